package rows

import (
	"errors"
	"fmt"
	"strconv"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/template"
)

// Source yields the items of a dataset. It is safe for concurrent use.
type Source struct {
	file     *dataset.File
	template template.Template
	system   string
	notes    notes
}

var _ workload.Source = (*Source)(nil)

// New checks that every row of f gives an item, so that no bad row is found
// when requests are already out. Its error, a spec.Issue, names path:line and
// the field.
//
// A row gives its prompt by the template. When the template is the default and a
// row has no field "question" but has "messages" (a list of {role, content}),
// those are sent as they are. A row's own "max_tokens" or "output_tokens" is its
// output length and wins over the spec's; a row's own system message wins over
// system. Notes says how often either happened.
func New(f *dataset.File, t template.Template, system string) (*Source, error) {
	s := &Source{file: f, template: t, system: system}
	err := f.Each(func(row dataset.Row) error {
		item, how, err := s.item(row)
		if err == nil {
			s.notes.add(item, how)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Len is the number of rows.
func (s *Source) Len() int64 { return s.file.Len() }

// Item is row i (0 ≤ i < Len), read again from the file.
func (s *Source) Item(i int64) (workload.Item, error) {
	row, err := s.file.Row(i)
	if err != nil {
		return workload.Item{}, err
	}
	item, _, err := s.item(row)
	if err != nil {
		return workload.Item{}, err
	}
	item.Ref = workload.Ref{Row: row.Index, Offset: row.Offset, SHA256: row.SHA256()}
	return item, nil
}

// Notes are sentences about the rows as a whole, to be said before the first
// request.
func (s *Source) Notes() []string { return s.notes.say(s.Len(), s.system) }

// how says which rules a row used.
type how struct{ messages, ownSystem bool }

// item is everything of an item but its Ref.
func (s *Source) item(row dataset.Row) (item workload.Item, h how, err error) {
	if item.OutputLen, err = outputLen(row); err != nil {
		return item, h, err
	}
	if h.messages = s.useMessages(row); h.messages {
		item.Messages, err = messages(row)
		h.ownSystem = err == nil && item.Messages[0].Role == "system"
	} else if item.Prompt, err = s.prompt(row); err == nil {
		item.Messages = []workload.Message{{Role: "user", Content: item.Prompt}}
	}
	if err != nil {
		return item, h, err
	}
	if s.system != "" && !h.ownSystem {
		item.Messages = append([]workload.Message{{Role: "system", Content: s.system}}, item.Messages...)
	}
	return item, h, nil
}

func (s *Source) useMessages(row dataset.Row) bool {
	if s.template.String() != template.Default {
		return false
	}
	if _, question := row.Fields.Get("question"); question {
		return false
	}
	_, messages := row.Fields.Get("messages")
	return messages
}

func (s *Source) prompt(row dataset.Row) (string, error) {
	p, err := s.template.Render(row.Fields)
	var field *template.FieldError
	switch {
	case errors.As(err, &field):
		return "", row.Issue(field.Hint(), "%v", field)
	case err != nil:
		return "", row.Issue("", "%v", err)
	case p == "":
		return "", row.Issue("give the row a prompt, or take it out", "the prompt is empty")
	}
	return p, nil
}

// outputLen is the row's own output length, 0 when it has none.
func outputLen(row dataset.Row) (int64, error) {
	var n int64
	var from string
	for _, name := range []string{"max_tokens", "output_tokens"} {
		raw, ok := row.Fields.Get(name)
		if !ok || string(raw) == "null" {
			continue
		}
		v, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || v < 1 {
			return 0, row.Issue("write a whole number from 1, or leave the field out", "%s is %s, not a positive integer", name, short(raw))
		}
		if from != "" && v != n {
			return 0, row.Issue("keep one of the two", "%s is %d but %s is %d", from, n, name, v)
		}
		n, from = v, name
	}
	return n, nil
}

func short(raw []byte) string {
	if len(raw) > 40 {
		return fmt.Sprintf("%q…", raw[:40])
	}
	return string(raw)
}
