package exchange

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

// What the client makes of a server's bytes is proved by the timelines of
// internal/wirecase. Here is what a timeline cannot say: limits on another
// clock, options of the exchanger, what a caller sees.

// want is what a case says about one request; times in ms after the release, −1
// for absent ones.
type want struct {
	outcome              tape.Outcome // "" is ok
	cause                string
	kinds                string
	ttft, ttfo, e2e, end float64
	itl                  []float64
	text, reasoning      string
	tools                string
	input, output        int64 // −1: absent
	finish               string
	flags                []string
	message              []string // parts of the message
}

// none are the times of a request without tokens.
func none(w want) want {
	w.ttft, w.ttfo, w.e2e = -1, -1, -1
	return w
}

func check(t *testing.T, req *tape.Request, w want) {
	t.Helper()
	if w.outcome == "" {
		w.outcome = tape.OutcomeOK
	}
	got := want{
		outcome: req.Outcome, cause: req.Cause, kinds: req.Events.Kind,
		ttft: since(req, req.TFirstToken), ttfo: since(req, req.TFirstVisible), e2e: since(req, req.TLastToken), end: since(req, req.TEnd),
		itl: gaps(req, 0), input: req.Tokens.Input.Or(-1), output: req.Tokens.Output.Or(-1), finish: req.Finish, flags: req.Flags,
	}
	if req.Output != nil {
		got.text, got.reasoning, got.tools = req.Output.Text, req.Output.Reasoning, req.Output.Tools
	}
	for _, part := range w.message {
		if !strings.Contains(req.Message, part) {
			t.Errorf("message %q lacks %q", req.Message, part)
		}
	}
	if (req.Message == "") != (req.Outcome == tape.OutcomeOK) {
		t.Errorf("outcome %s has the message %q", req.Outcome, req.Message)
	}
	w.message = nil
	if d := cmp.Diff(w, got, cmp.AllowUnexported(want{})); d != "" {
		t.Errorf("(-want +got), message %q:\n%s", req.Message, d)
	}
	if e := req.Events; len(e.Tok) > 0 && len(e.Tok) != len(e.DT) || len(e.Choice) > 0 && len(e.Choice) != len(e.DT) {
		t.Errorf("%d gaps, %d counts, %d choices", len(e.DT), len(e.Tok), len(e.Choice))
	}
}
