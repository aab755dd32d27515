package rows

import (
	"slices"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/template"
)

// kind is one meaning that the rows of a dataset can have.
type kind struct {
	// is reports whether a file whose first row is this one is of the kind; nil:
	// only when it is named.
	is func(row dataset.Row) bool
	// item makes the item of a row, but for what all kinds share. It fills in
	// either Body, or TokenIDs, or Messages. An error leaves tells that the row
	// asks nothing; any other is a spec.Issue.
	item func(s *Source, row dataset.Row, item *workload.Item) error
	// when is the field that holds the time of a row, and unit what it counts
	// unless the spec or the numbers say otherwise; "": rows carry no times.
	when, unit string
	// dates: times are text, a date and a time.
	dates bool
	// what the rows are called in a note.
	what string
	// fields of a row that are looked at, beside those that all kinds share. whole:
	// no others, since the row brings the whole body.
	fields []string
	whole  bool
}

// kinds by their name in workload.dataset.format. Rows of any other format are
// questions, unless their first row tells that they are a kind of their own.
var kinds = map[string]kind{
	"messages": messagesKind,
	"sharegpt": sharegpt,
	"tokens":   tokensKind,
	"bodies":   bodies,
	"mooncake": mooncake,
	"burstgpt": burstGPT,
	"azure":    azure,
}

// choose sets what the rows mean.
func (s *Source) choose(first dataset.Row) {
	if s.body != nil {
		s.kind = kind{item: filledBody, what: "filled into workload.body", fields: s.body.fields(), whole: true}
		return
	}
	name := s.w.Dataset.Format
	if k, ok := kinds[name]; ok {
		s.kind, s.name = k, name
		return
	}
	s.kind = question
	s.kind.fields = s.tmpl.Fields()
	if s.tmpl.String() == template.Default { // what stands in for a missing question
		s.kind.fields = slices.Concat(s.kind.fields, messagesKind.fields, tokensKind.fields)
	}
	if s.tmpl.String() != template.Default || has(first, "question") {
		return
	}
	for _, name := range []string{"sharegpt", "mooncake", "burstgpt", "azure"} {
		if k := kinds[name]; k.is(first) {
			s.kind, s.name = k, name
			s.notes.say("the rows are read as %s (workload.dataset.format: %s)", k.what, name)
			return
		}
	}
}

// timed reports whether the rows carry times: those of a trace do, those of
// another kind when the spec says where or in what unit.
func (s *Source) timed() bool {
	d := s.w.Dataset
	return s.kind.when != "" || d.Columns["timestamp"] != "" || d.TimeUnit != "" && d.TimeUnit != "auto"
}

func has(row dataset.Row, name string) bool {
	_, ok := row.Fields.Get(name)
	return ok
}
