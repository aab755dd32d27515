package rows

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	o      Options
	tmpl   template.Template
	body   *node // of workload.body; nil: none
	kind   kind
	name   string // of kind
	picked picked
	places picked // of the picked rows among those that pass the filter, in the order of the file
	times  []int64
	notes  notes

	dated, counted int64 // times that are dates, and numbers
}

var _ workload.Timed = (*Source)(nil)

// Options say how a dataset is opened. The zero value is Open's without a check.
type Options struct {
	// Check, when not nil, is asked about each item too.
	Check func(workload.Item) error
	// Watch is dataset.Options.Watch, of each file.
	Watch func(what string, done, total int64)
	// Shared: the settings are those of several files, so that one that means nothing
	// to this one (turns, block_tokens) is no fault.
	Shared bool
	// Names are what settings are called where the file was named, when that is not
	// workload.dataset: {"workload.dataset.path": "prepare.dataset"}. Errors use them.
	Names map[string]string
}

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
	return OpenWith(w, seed, Options{Check: check})
}

// OpenWith is Open with options.
func OpenWith(w spec.Workload, seed int64, o Options) (*Source, error) {
	s := &Source{w: w, seed: seed, o: o}
	if err := s.open(); err != nil {
		return nil, renamed(err, o.Names)
	}
	return s, nil
}

func (s *Source) open() (err error) {
	w := s.w
	if s.tmpl, err = template.Parse(w.Template); err != nil {
		return err
	}
	if s.body, err = parseBody(w.Body); err != nil {
		return err
	}
	layout := w.Dataset.Format
	if _, named := kinds[layout]; named {
		layout = dataset.Auto
	}
	if s.file, err = dataset.OpenWith(w.Dataset.Path, layout, dataset.Options{Lax: w.Dataset.OnBadRow == "skip", Watch: s.o.Watch}); err != nil {
		return err
	}
	if err := s.scan(); err != nil {
		s.file.Close()
		return err
	}
	return nil
}

// renamed puts the names into an issue.
func renamed(err error, names map[string]string) error {
	var at spec.Issue
	if len(names) == 0 || !errors.As(err, &at) {
		return err
	}
	var pairs []string
	for _, old := range slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, old, names[old]) // the longest first
	}
	r := strings.NewReplacer(pairs...)
	at.Field, at.Message, at.Hint = r.Replace(at.Field), r.Replace(at.Message), r.Replace(at.Hint)
	return at
}

// Len is the number of items.
func (s *Source) Len() int64 { return s.picked.n }

// Info describes the dataset's file.
func (s *Source) Info() dataset.Info { return s.file.Info() }

// MeanBytes is the mean size of an item's prompt.
func (s *Source) MeanBytes() int64 { return s.notes.bytes / s.picked.n }

// Longest are the longest input and output, tokens, that any item itself asks for;
// 0: none does.
func (s *Source) Longest() (input, output int64) { return s.notes.input, s.notes.most }

// OwnOutputs is how many of all items of the file set an output length of their own,
// which wins over workload.output_tokens. Of whole request bodies it is not counted.
func (s *Source) OwnOutputs() (own, all int64) {
	if s.notes.whole == 0 {
		own = s.notes.output
	}
	return own, s.picked.n
}

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
	item, err := s.made(s.picked.row(i))
	if err == nil && s.times != nil {
		item.At = s.times[i]
	}
	return item, err
}

// made is the item of a row of the file.
func (s *Source) made(index int64) (workload.Item, error) {
	row, err := s.file.Row(index)
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
	return item, nil
}

// Where is "path:line" of item i, for messages; the path alone when the row cannot
// be read again.
func (s *Source) Where(i int64) string {
	row, err := s.file.Row(s.picked.row(i))
	if err != nil {
		return s.w.Dataset.Path
	}
	return fmt.Sprintf("%s:%d", row.Path, row.Line)
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
			if err := s.effect(); err != nil {
				return err
			}
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
		s.places.add(passed - 1)
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
	if s.o.Check != nil {
		if err := s.o.Check(item); err != nil {
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
