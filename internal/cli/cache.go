package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"tokentape/internal/analysis"
	"tokentape/internal/run"
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
	sets []*synth.Expected                             // by dataset; nil of one without a manifest of its rows
}

// expectCache finds out what the cache is to serve: nothing, where the spec says so,
// else what the manifests beside built sets say.
func (j *job) expectCache() {
	if j.spec.Workload.Cache == "zero" {
		j.cache = cachePlan{head: &tape.CachePlan{By: tape.CacheBySpec, Zero: true}, of: func(workload.Ref) (int64, bool) { return 0, true }}
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
	j.cache = cachePlan{sets: sets, head: head, of: func(ref workload.Ref) (int64, bool) {
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

// groups names the prompts that begin alike: by the manifests of built sets, else by
// their system message. What it returns keeps the last system message, since that is
// mostly the same, and may be called by several goroutines.
func (j *job) groups() run.GroupOf {
	sets, seeds := j.cache.sets, j.seeds()
	var mu sync.Mutex
	var last, name string
	return func(item workload.Item, prepared bool) string {
		data := item.Ref.Data
		switch own := prepared && j.prep.own; {
		case own && seeds >= 0:
			if g, ok := sets[seeds].Seeded(item.Ref.Row); ok {
				return manifestGroup(len(sets), seeds, g)
			}
		case !own && data >= 0 && data < len(sets) && sets[data] != nil:
			if g, ok := sets[data].Group(item.Ref.Row, item.Ref.SHA256); ok {
				return manifestGroup(len(sets), data, g)
			}
		}
		if len(item.Messages) == 0 || item.Messages[0].Role != "system" {
			return ""
		}
		text := item.Messages[0].Content
		if text == "" {
			text = string(item.Messages[0].Raw)
		}
		mu.Lock()
		defer mu.Unlock()
		if text != last || name == "" {
			sum := sha256.Sum256([]byte(text))
			last, name = text, tape.GroupSystem+hex.EncodeToString(sum[:8])
		}
		return name
	}
}

// seeds is the dataset that the rows of the preparation seed; −1: none.
func (j *job) seeds() int {
	if !j.prep.own {
		return -1
	}
	sum := j.prep.source.Info().SHA256
	return slices.IndexFunc(j.cache.sets, func(x *synth.Expected) bool { return x != nil && x.Prepare != nil && x.Prepare.SHA256 == sum })
}

// manifestGroup names group g of a dataset of several.
func manifestGroup(datasets, data int, g int64) string {
	if datasets > 1 {
		return fmt.Sprintf("%s%d/%d", tape.GroupManifest, data, g)
	}
	return fmt.Sprintf("%s%d", tape.GroupManifest, g)
}
