package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tokentape/internal/analysis"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/rows"
	"tokentape/internal/workload/synth"
	"tokentape/tape"
)

// cachePlan is what the server's prefix cache is expected to serve.
type cachePlan struct {
	head *tape.CachePlan                               // nil: nothing is expected
	of   func(workload.Ref) (cached int64, known bool) // of a row's prompt
}

// expectCache finds out what the cache is to serve: nothing, where the spec says so,
// else what the manifests beside built sets say.
func (j *job) expectCache() {
	if j.spec.Workload.Cache == "zero" {
		j.cache = cachePlan{&tape.CachePlan{By: tape.CacheBySpec, Zero: true}, func(workload.Ref) (int64, bool) { return 0, true }}
		return
	}
	infos := []dataset.Info{j.source.Info()}
	if m, ok := j.source.(*rows.Mix); ok {
		infos = m.Parts()
	}
	sets := make([]*synth.Expected, len(infos))
	head := &tape.CachePlan{By: tape.CacheByManifest, Zero: true}
	for i, info := range infos {
		path := manifestName(info.Path)
		x, err := synth.ReadExpected(path)
		why := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			why = err.Error()
		case x.Data.SHA256 != info.SHA256:
			why = fmt.Sprintf("%s is of other rows (sha256 %.12s…) than %s has (%.12s…)", path, x.Data.SHA256, info.Path, info.SHA256)
		case !j.asBuilt(i):
			why = path + " knows prompts that are the rows' question alone, and this spec makes others (workload.template, system or body)"
		}
		if why != "" {
			j.notes = append(j.notes, why+": cache hits are held against nothing")
			continue
		}
		if p := x.Prepare; p != nil && (j.prep.source == nil || j.prep.source.Info().SHA256 != p.SHA256) {
			j.notes = append(j.notes, fmt.Sprintf("%s expects that the rows of %s %s: prepare.dataset: %s",
				path, p.File, analysis.NoteNotPrepared, filepath.Join(filepath.Dir(path), filepath.Base(p.File))))
		}
		sets[i], head.Zero = x, head.Zero && x.Zero()
		if head.From == nil {
			head.From = &tape.FileRef{Path: path, SHA256: x.SHA256}
		}
	}
	if head.From == nil {
		return
	}
	j.cache = cachePlan{head, func(ref workload.Ref) (int64, bool) {
		if ref.Data < 0 || int(ref.Data) >= len(sets) || sets[ref.Data] == nil {
			return 0, false
		}
		return sets[ref.Data].Of(ref.Row, ref.SHA256)
	}}
}

// asBuilt reports whether the prompts of a dataset are the ones that dataset build
// counted.
func (j *job) asBuilt(part int) bool {
	w := j.spec.Workload
	template := w.Template
	if len(w.Mix) > 0 && w.Mix[part].Template != "" {
		template = w.Mix[part].Template
	}
	return template == spec.Default().Workload.Template && w.System == "" && len(w.Body) == 0
}
