package rows

import (
	"errors"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/template"
)

// question is a row whose prompt the template renders. When the template is the
// default and the row has no field "question", its "messages" are sent as they
// are, or the token ids of its "prompt".
var question = kind{
	what: "questions",
	item: func(s *Source, row dataset.Row, item *workload.Item) error {
		if s.tmpl.String() == template.Default && !has(row, "question") {
			if has(row, "messages") {
				return messagesItem(s, row, item)
			}
			if name, _ := s.idsOf(row); name != "" {
				return tokensItem(s, row, item)
			}
		}
		prompt, err := s.prompt(row)
		ask(item, prompt)
		return err
	},
}

func (s *Source) prompt(row dataset.Row) (string, error) {
	p, err := s.tmpl.Render(row.Fields)
	if err != nil {
		return "", fieldIssue(row, err)
	}
	if p == "" {
		return "", row.Issue("give the row a prompt, or take it out", "the prompt is empty")
	}
	return p, nil
}

func fieldIssue(row dataset.Row, err error) error {
	var field *template.FieldError
	if errors.As(err, &field) {
		return row.Issue(field.Hint(), "%v", field)
	}
	return row.Issue("", "%v", err)
}
