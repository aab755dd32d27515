package rows

import (
	"errors"
	"fmt"
	"slices"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/template"
)

// Source yields the items of a dataset. It is safe for concurrent use.
type Source struct {
	file   *dataset.File
	w      spec.Workload
	seed   int64
	check  func(workload.Item) error
	tmpl   template.Template
	body   *node // of workload.body; nil: none
	kind   kind
	name   string // of kind
	picked picked
	times  []int64
	notes  notes
}

var _ workload.Timed = (*Source)(nil)

// Open opens the dataset of a spec and checks that every row gives an item, so
// that no bad row is found when requests are already out. check, when not nil,
// is asked about each item too. seed is that of prompts which are made up (those
// of traces). Its error, a spec.Issue, names path:line and the field.
//
// A row's own "max_tokens" or "output_tokens" is its output length and wins over
// the spec's; so does its own system message. The fields of its "extra" object,
// and those that workload.dataset.extra names, become body fields. Notes says
// how often any of it happened.
func Open(w spec.Workload, seed int64, check func(workload.Item) error) (*Source, error) {
	s := &Source{w: w, seed: seed, check: check}
	var err error
	if s.tmpl, err = template.Parse(w.Template); err != nil {
		return nil, err
	}
	if s.body, err = parseBody(w.Body); err != nil {
		return nil, err
	}
	open, layout := dataset.Open, w.Dataset.Format
	if w.Dataset.OnBadRow == "skip" {
		open = dataset.OpenLax
	}
	if _, named := kinds[layout]; named {
		layout = dataset.Auto
	}
	if s.file, err = open(w.Dataset.Path, layout); err != nil {
		return nil, err
	}
	if err := s.scan(); err != nil {
		s.file.Close()
		return nil, err
	}
	return s, nil
}

// Len is the number of items.
func (s *Source) Len() int64 { return s.picked.n }

// Info describes the dataset's file.
func (s *Source) Info() dataset.Info { return s.file.Info() }

// MeanBytes is the mean size of an item's prompt.
func (s *Source) MeanBytes() int64 { return s.notes.bytes / s.picked.n }

// Close closes the file.
func (s *Source) Close() error { return s.file.Close() }

// Times are when the items were sent; see workload.Timed.
func (s *Source) Times() []int64 { return s.times }

// Notes are sentences about the rows as a whole, to be said before the first
// request.
func (s *Source) Notes() []string { return s.notes.said }

// Item is item i (0 ≤ i < Len), read again from the file. Items are in the order
// of the file, those of a trace in the order of time.
func (s *Source) Item(i int64) (workload.Item, error) {
	if i < 0 || i >= s.picked.n {
		return workload.Item{}, fmt.Errorf("%s: there is no item %d among %d (0 is the first)", s.w.Dataset.Path, i, s.picked.n)
	}
	row, err := s.file.Row(s.picked.row(i))
	if err != nil {
		return workload.Item{}, err
	}
	sum := row.SHA256()
	if row, err = s.mapped(row); err != nil {
		return workload.Item{}, err
	}
	item, err := s.item(row)
	if err != nil {
		return workload.Item{}, err
	}
	item.Ref = workload.Ref{Row: row.Index, Offset: row.Offset, SHA256: sum}
	if s.times != nil {
		item.At = s.times[i]
	}
	return item, nil
}

// leaves is the error of a row that asks nothing by the custom of its format; it
// is left out and counted by reason.
type leaves string

func (l leaves) Error() string { return string(l) }

var errEnough = errors.New("enough rows")

// scan chooses and checks the rows.
func (s *Source) scan() error {
	d := s.w.Dataset
	n := &s.notes
	n.begin(s.file.Len())
	var stamps []stamp
	var passed int64 // the filter
	err := s.file.Each(func(row dataset.Row) error {
		row, err := s.mapped(row)
		if err != nil {
			return err
		}
		if s.kind.item == nil {
			s.choose(row)
		}
		n.fields(row, d)
		if ok, err := s.passes(row); err != nil || !ok {
			return err
		}
		if passed++; passed <= d.Skip {
			return nil
		}
		item, at, err := s.checked(row)
		var left leaves
		switch {
		case errors.As(err, &left):
			n.left[string(left)]++
			return nil
		case err != nil && d.OnBadRow == "skip":
			n.bad(err)
			return nil
		case err != nil:
			return err
		}
		if s.timed() {
			stamps = append(stamps, at)
		}
		s.picked.add(row.Index)
		n.add(item, s.w.System)
		if d.Limit > 0 && s.picked.n == d.Limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := n.unknown(s, passed); err != nil {
		return err
	}
	if s.picked.n == 0 {
		return n.none(s, passed)
	}
	if s.timed() {
		if err := s.sort(stamps); err != nil {
			return err
		}
	}
	n.end(s)
	return nil
}

// checked is the item of a row, and its time.
func (s *Source) checked(row dataset.Row) (item workload.Item, at stamp, err error) {
	if item, err = s.item(row); err != nil {
		return item, at, err
	}
	if s.timed() {
		if at, err = s.stamp(row); err != nil {
			return item, at, err
		}
	}
	if s.check != nil {
		if err := s.check(item); err != nil {
			return item, at, row.Issue("", "the row cannot be sent: %v", err)
		}
	}
	return item, at, nil
}

// item is everything of an item but its Ref and time.
func (s *Source) item(row dataset.Row) (item workload.Item, err error) {
	if err := s.kind.item(s, row, &item); err != nil {
		return item, err
	}
	if item.Body != nil {
		item.Override = s.w.Dataset.Override
		return item, nil
	}
	if item.OutputLen == 0 {
		if item.OutputLen, err = outputLen(row); err != nil {
			return item, err
		}
	}
	if err := s.extra(row, &item); err != nil {
		return item, err
	}
	if s.w.System == "" {
		return item, nil
	}
	if item.TokenIDs != nil {
		return item, row.Issue("put it into the ids, and take workload.system out", "a prompt of token ids has no place for workload.system")
	}
	if item.Messages[0].Role != "system" {
		item.Messages = append([]workload.Message{{Role: "system", Content: s.w.System}}, item.Messages...)
	}
	return item, nil
}

// ask makes the item one user message.
func ask(item *workload.Item, prompt string) {
	item.Prompt = prompt
	item.Messages = []workload.Message{{Role: "user", Content: prompt}}
}

// picked are the rows of the file that are items. Only where they are not a run
// without gaps is a list kept.
type picked struct {
	first, n int64
	list     []int64
}

func (p *picked) add(row int64) {
	switch {
	case p.list != nil:
		p.list = append(p.list, row)
	case p.n == 0:
		p.first = row
	case row != p.first+p.n:
		p.spell()
		p.list = append(p.list, row)
	}
	p.n++
}

// spell makes the list.
func (p *picked) spell() {
	if p.list != nil {
		return
	}
	p.list = make([]int64, p.n, p.n+1)
	for i := range p.list {
		p.list[i] = p.first + int64(i)
	}
}

func (p *picked) row(i int64) int64 {
	if p.list != nil {
		return p.list[i]
	}
	return p.first + i
}

// order puts the rows into another order.
func (p *picked) order(by []int64) {
	p.spell()
	old := slices.Clone(p.list)
	for i, j := range by {
		p.list[i] = old[j]
	}
}
