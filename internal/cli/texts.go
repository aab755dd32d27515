package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report/html"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/rows"
	"tokentape/tape"
)

// texts are the prompts and answers of the run at path: answers as the tape has them,
// prompts made again from the rows that it names, where these are still what they were.
func (a *app) texts(path string, res *analysis.Results) (*html.Texts, error) {
	show := a.during("reading prompts and answers")
	defer show.done()
	r, err := tape.OpenFile(path)
	if err != nil {
		return nil, usageError(err.Error())
	}
	defer r.Close()
	out := &html.Texts{Of: map[int][]html.Text{}}
	take, place := html.Take(res.Rows.Len()), map[int64]int{}
	for i, row := range res.Rows.All() {
		if i%take == 0 {
			place[row.Seq] = i
		} else {
			out.LeftOut++
		}
	}
	var p *prompts
	answers := false
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, tapeError(err)
		}
		switch x := rec.(type) {
		case *tape.Header:
			p = openPrompts(x, show)
			defer p.close()
		case *tape.Request:
			i, ok := place[x.Seq]
			if !ok {
				continue
			}
			put := func(kind, text string) {
				if text != "" {
					out.Of[i] = append(out.Of[i], html.NewText(kind, text))
				}
			}
			put(html.TextPrompt, p.of(x))
			if o := x.Output; o != nil {
				put(html.TextReasoning, o.Reasoning)
				put(html.TextAnswer, o.Text)
				put(html.TextTools, o.Tools)
				answers = answers || o.Text != "" || o.Reasoning != "" || o.Tools != ""
			}
		}
	}
	if p != nil {
		out.Notes = append(out.Notes, p.notes()...)
	}
	if !answers {
		out.Notes = append(out.Notes, "answers: the tape holds none (record.output: "+recordedOutput(p)+"); tokentape run --set record.output=full keeps them")
	}
	for _, n := range out.Notes {
		fmt.Fprintln(a.stderr, "tokentape: --with-text: "+n)
	}
	return out, nil
}

func recordedOutput(p *prompts) string {
	if p == nil || p.spec == nil {
		return "not known"
	}
	return p.spec.Record.Output
}

// prompts make the prompts of a tape's requests again.
type prompts struct {
	spec   *spec.Spec
	source itemSource // nil: there are none, for the reason why
	why    string
	whole  bool // the files are those that were sent from, byte for byte
	other  int64
	first  string // why the first of other has none
	later  bool   // turns that go on with the server's own answers
}

// openPrompts opens the rows that the header of a tape names.
func openPrompts(h *tape.Header, show *loading) *prompts {
	p := &prompts{}
	s := spec.Default()
	switch {
	case h.Import != nil:
		p.why = "the tape was imported, and does not say where the prompts are"
	case len(h.Spec) == 0 || json.Unmarshal(h.Spec, s) != nil:
		p.why = "the tape holds no spec that says where they are"
	case s.Workload.Dataset.Path == "" && len(s.Workload.Mix) == 0:
		p.why = "the tape's spec names no dataset"
	default:
		p.spec = s
		var err error
		if p.source, err = openItems(s.Workload, s.Seeds.Run, rows.Options{Watch: show.file()}); err != nil {
			var at spec.Issue
			if errors.As(err, &at) {
				at.Hint = "" // it is of settings, which reading has not
				err = at
			}
			p.source, p.why = nil, err.Error()+"; paths are those of the run: start tokentape report in the folder in which it was started"
			return p
		}
		p.whole = p.source.Info().SHA256 == h.Data.SHA256
	}
	return p
}

func (p *prompts) close() {
	if p.source != nil {
		p.source.Close()
	}
}

// of is the prompt of a request, "" where it cannot be made again.
func (p *prompts) of(q *tape.Request) string {
	if p == nil || p.source == nil || q.Phase == tape.PhaseProbe || q.Phase == tape.PhasePrepare {
		return ""
	}
	text, err := p.make(q)
	if err != nil {
		if p.other++; p.first == "" {
			p.first = fmt.Sprintf("#%d: %v", q.Seq, err)
		}
		return ""
	}
	return text
}

func (p *prompts) make(q *tape.Request) (string, error) {
	var s *rows.Source
	switch x := p.source.(type) {
	case *rows.Source:
		s = x
	case *rows.Mix:
		s = x.Part(q.Ref.Data)
	}
	if s == nil {
		return "", fmt.Errorf("there is no dataset %d", q.Ref.Data)
	}
	item, err := s.Again(q.Ref.Row)
	if err != nil {
		return "", err
	}
	if q.Ref.SHA256 != "" && item.Ref.SHA256 != q.Ref.SHA256 || q.Ref.SHA256 == "" && !p.whole {
		return "", fmt.Errorf("row %d of %s is another than was sent", q.Ref.Row, s.Info().Path)
	}
	if p.spec.Workload.Sessions {
		recorded := p.spec.Workload.History == "recorded"
		c, err := workload.Converse(item, recorded)
		if err != nil {
			return "", err
		}
		if q.Turn < 0 || q.Turn >= c.Turns() {
			return "", fmt.Errorf("row %d of %s has no turn %d", q.Ref.Row, s.Info().Path, q.Turn)
		}
		item = c.Turn(q.Turn, nil)
		if !recorded && q.Turn > 0 {
			p.later = true
			item.Messages = item.Messages[len(item.Messages)-1:]
		}
	}
	var hidden secrets
	hidden.of(item)
	return spec.Own(hidden.list).Mask(promptText(item)), nil
}

// promptText is what an item asks, for people.
func promptText(item workload.Item) string {
	switch {
	case len(item.Body) > 0:
		return string(item.Body)
	case len(item.TokenIDs) > 0:
		return strings.Trim(fmt.Sprint(item.TokenIDs), "[]")
	case len(item.Messages) == 1:
		return item.Messages[0].Content
	case len(item.Messages) == 0:
		return item.Prompt
	}
	var b strings.Builder
	for i, m := range item.Messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Content)
	}
	return b.String()
}

// notes say which prompts there are not.
func (p *prompts) notes() (notes []string) {
	if p.why != "" {
		return []string{"prompts: " + p.why}
	}
	if p.other > 0 {
		notes = append(notes, fmt.Sprintf("prompts: %d cannot be made again; %s", p.other, p.first))
	}
	if p.later {
		notes = append(notes, "prompts: of a later turn the user's message alone; the turns before it, with the server's own answers, came before it")
	}
	return notes
}
