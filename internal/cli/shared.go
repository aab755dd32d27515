package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tokentape/internal/plan"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/internal/workload/rows"
)

// shared is what the runs of a series need to read once: datasets and tokenizers. A nil
// *shared shares nothing.
type shared struct {
	sets   map[string]*sharedSet
	counts map[string]*sharedCount
}

type sharedSet struct {
	source *rows.Source
	hidden secrets
}

type sharedCount struct {
	count *counting
	notes []string
}

func (h *shared) close() {
	if h == nil {
		return
	}
	for _, s := range h.sets {
		s.source.Close()
	}
}

// open opens the dataset of a job, or the rows of it that are its own: these then stand
// in its spec too. A mix and a trace are opened anew each time: the skip of one holds
// for each of its files, and the rows of the other are sorted by their times.
func (h *shared) open(j *job, own *sweep.Share, o rows.Options) (itemSource, error) {
	w := &j.spec.Workload
	if h == nil {
		return openItems(*w, j.spec.Seeds.Run, o)
	}
	if len(w.Mix) > 0 {
		if own != nil {
			w.Dataset.Skip, w.Dataset.Limit = w.Dataset.Skip+own.First, own.Rows
		}
		return openItems(*w, j.spec.Seeds.Run, o)
	}
	set, err := h.set(j, o)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return set.source.Part(0, set.source.Len())
	}
	part, err := set.source.Part(own.First, own.Rows)
	if err != nil {
		return nil, err // the file has changed since the rows were dealt
	}
	w.Dataset.Skip, w.Dataset.Limit = set.source.Place(own.First), own.Rows
	j.notes = append(j.notes, fmt.Sprintf("rows %d to %d of %d are this run's own", own.First, own.First+own.Rows-1, set.source.Len()))
	if set.source.Times() != nil {
		return openItems(*w, j.spec.Seeds.Run, o)
	}
	return part, nil
}

// set is the whole dataset of a job.
func (h *shared) set(j *job, o rows.Options) (*sharedSet, error) {
	key := setKey(j.spec)
	if set, ok := h.sets[key]; ok {
		j.hidden = secrets{list: slices.Clone(set.hidden.list)}
		return set, nil
	}
	source, err := rows.OpenWith(j.spec.Workload, j.spec.Seeds.Run, o)
	if err != nil {
		return nil, err
	}
	if h.sets == nil {
		h.sets = map[string]*sharedSet{}
	}
	set := &sharedSet{source, secrets{list: slices.Clone(j.hidden.list)}}
	h.sets[key] = set
	return set, nil
}

// setKey names all of a spec that the items of its dataset, and whether they can be
// sent, follow from.
func setKey(s *spec.Spec) string {
	w := s.Workload
	w.OutputTokens = min(w.OutputTokens, 1) // whether there is one, not which
	b, err := json.Marshal(struct {
		W      spec.Workload
		API    string
		Custom spec.Custom
		Field  string
		Model  bool
		Seed   int64
	}{w, s.Target.API, s.Target.Custom, s.Target.MaxTokensField, s.Target.Model == "", s.Seeds.Run})
	if err != nil { // a value that Validate refuses
		return fmt.Sprint(s)
	}
	return string(b)
}

// dealtFrom names the rows of a spec: points that have the same are dealt out of them.
func dealtFrom(s *spec.Spec) string {
	b, err := json.Marshal(struct {
		D spec.Dataset
		M []spec.Part
	}{s.Workload.Dataset, s.Workload.Mix})
	if err != nil {
		return s.Workload.Dataset.Path
	}
	return string(b)
}

// counting is loadCounting, once for all runs that need the same.
func (h *shared) counting(s *spec.Spec, now time.Time) (*counting, []string, error) {
	if h == nil || s.Target.Tokenizer == "" {
		return loadCounting(s, now)
	}
	b, _ := json.Marshal(s.Workload.Sampling["chat_template_kwargs"])
	key := s.Target.Tokenizer + "\x00" + s.Target.API + "\x00" + string(b)
	if c, ok := h.counts[key]; ok {
		return c.count, c.notes, nil
	}
	c, notes, err := loadCounting(s, now)
	if err != nil {
		return nil, nil, err
	}
	if h.counts == nil {
		h.counts = map[string]*sharedCount{}
	}
	h.counts[key] = &sharedCount{c, notes}
	return c, notes, nil
}

// dealt is how many rows a job can be dealt, and how many it needs for itself, warm-up
// and tail included; −1: nobody knows, or any number will do. Of a mix it is rows of
// each file, since the settings of workload.dataset hold for each.
func (j *job) dealt() (have, need int64) {
	have = j.source.Len()
	p := j.plan
	var parts []int64
	if m, ok := j.source.(*rows.Mix); ok {
		parts = m.Lens()
		have = slices.Min(parts)
	}
	if p.Kind == plan.KindGenerator || j.spec.Workload.Repeat == plan.RepeatCycle {
		return have, -1
	}
	need = p.Rows()
	if j.spec.Workload.Sessions {
		need = p.Sessions()
	}
	if len(parts) > 0 {
		used := make([]int64, len(parts))
		for i := range p.Rows() {
			row, ok := p.At(i)
			for k := 0; ok && k < len(parts); k++ {
				if row.Item < parts[k] {
					used[k]++
					break
				}
				row.Item -= parts[k]
			}
		}
		need = slices.Max(used)
	}
	if j.spec.Load.Tail == "auto" {
		need += tailRows(need, p.Params.Concurrency)
	}
	return have, need
}

// tailRows is how many rows are kept for the tail of a point: half as many as it
// measures, and four for each slot. A tail that runs out of rows ends early.
func tailRows(n, c int64) int64 { return n/2 + 4*c }

// duration is how long the requests of a job are sent; 0: nobody knows. most is the
// longest that it can be; 0: no limit.
func (j *job) duration() (about, most time.Duration) {
	p := j.plan
	most = time.Duration(p.Params.Duration)
	switch {
	case p.Kind == plan.KindGenerator:
		return most, most
	case p.Params.Open():
		first, _ := p.At(0)
		for i := p.Rows() - 1; i >= 0; i-- {
			if last, ok := p.At(i); ok && last.Due != plan.NoDue {
				return time.Duration(last.Due - first.Due), most
			}
		}
	}
	return 0, most
}
