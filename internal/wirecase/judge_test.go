package wirecase_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/wirecase"
	"tokentape/tape"
)

// absent is how an expectation says that there must be nothing.
const absent = "-"

// facts are what the client says about one answer, in the words of an expect
// block. What is absent has no entry.
type facts map[string]string

func fmtMS(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', -1, 64) }

// factsOf reads req the way analysis does.
func factsOf(req *tape.Request, took int64) facts {
	f := facts{"outcome": string(req.Outcome)}
	put := func(key string, value string, ok bool) {
		if ok && value != "" {
			f[key] = value
		}
	}
	ns := func(key string, v int64, ok bool) { put(key, fmtMS(float64(v)), ok) }
	var arena metric.Arena
	q := metric.Reduce(req, &arena)
	first := func(get func() (int64, bool), key string) {
		v, ok := get()
		ns(key, v, ok)
	}
	first(q.TTFT, "ttft")
	first(q.TTFO, "ttfo")
	first(q.E2E, "e2e")
	first(q.StreamEnd, "end")
	tpot, ok := q.TPOT()
	put("tpot", fmtMS(tpot), ok)
	per, ok := q.TokensPerEvent()
	put("per_event", strconv.FormatFloat(per, 'f', -1, 64), ok)
	if req.TFirstEvent.OK {
		ns("first_event", req.TFirstEvent.V-req.TReleased.V, true)
	}
	ns("within", took, true)

	last := map[int32]int64{}
	itl := map[int32][]string{}
	var counts []string
	tokens := 0
	for _, ev := range req.Events.All(req.TWroteFirst.V) {
		if !tape.IsToken(ev.Kind) {
			continue
		}
		tokens++
		if before, ok := last[ev.Choice]; ok {
			itl[ev.Choice] = append(itl[ev.Choice], fmtMS(float64(ev.T-before)))
		}
		last[ev.Choice] = ev.T
		if ev.Tok >= 0 {
			counts = append(counts, strconv.FormatInt(ev.Tok, 10))
		}
	}
	put("itl", strings.Join(itl[0], " "), true)
	put("itl1", strings.Join(itl[1], " "), true)
	put("tok", strings.Join(counts, " "), true)
	put("events", strconv.Itoa(tokens), tokens > 0)
	put("kinds", req.Events.Kind, true)

	n := func(key string, o tape.Opt[int64]) { put(key, strconv.FormatInt(o.V, 10), o.OK) }
	t := req.Tokens
	put("output", fmt.Sprint(t.Output.V, " ", t.OutputSource), t.Output.OK)
	n("input", t.Input)
	n("cached", t.Cached)
	n("reasoning", t.Reasoning)
	n("accepted", t.Accepted)
	n("rejected", t.Rejected)
	n("verify", t.Verify)
	if o := req.Output; o != nil {
		put("text", o.Text, true)
		put("text_bytes", strconv.Itoa(len(o.Text)), true)
		put("think", o.Reasoning, true)
		put("tools", o.Tools, true)
	}
	put("cause", req.Cause, true)
	put("finish", req.Finish, true)
	put("flags", strings.Join(req.Flags, " "), true)
	put("status", strconv.Itoa(req.HTTP.Status), req.HTTP.Status > 0)
	if req.Conn != nil {
		f["conn"] = map[bool]string{false: "new", true: "reused"}[req.Conn.Reused]
	}
	return f
}

// unfold writes "20*3" as "20 20 20".
func unfold(list string) string {
	var out []string
	for word := range strings.FieldsSeq(list) {
		v, n, ok := strings.Cut(word, "*")
		if count, err := strconv.Atoi(n); ok && err == nil {
			out = append(out, slices.Repeat([]string{v}, count)...)
		} else {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// timed are the keys that are times in ms.
var timed = []string{"ttft", "ttfo", "e2e", "end", "itl", "itl1", "tpot", "first_event", "within"}

// slack says how far a measured time may lie from the one that is written down,
// in ms; none in virtual time.
type slack struct{ early, late float64 }

// overSockets: a machine may be as busy as it likes, so a time may be late, and
// gaps may be anything; but nothing can come before it was written.
var overSockets = slack{early: 1, late: 20_000}

func (s slack) exact() bool { return s == slack{} }

// of is the slack of one key.
func (s slack) of(key string) slack {
	if !s.exact() && (strings.HasPrefix(key, "itl") || key == "tpot") {
		return slack{math.Inf(1), math.Inf(1)}
	}
	return s
}

// judge compares what the client says with what the case expects.
func judge(t testing.TB, e *wirecase.Expect, path string, req *tape.Request, took int64, seen string, s slack) {
	t.Helper()
	got := factsOf(req, took)
	bad := func(key, format string, args ...any) {
		line := e.Line
		if n := e.At[key]; n > 0 {
			line = n
		}
		t.Errorf("%s:%d: %s: %s", path, line, key, fmt.Sprintf(format, args...))
	}
	for key, strict := range wirecase.Keys {
		want, stated := e.Want[key]
		if want == absent {
			want = ""
		}
		have := got[key]
		switch {
		case !stated && !strict:
		case key == "text" && !stated && e.Want["text_bytes"] != "":
		case key == "within":
			limit, err := strconv.ParseFloat(want, 64)
			if now, _ := strconv.ParseFloat(have, 64); err != nil || now > limit+s.late {
				bad(key, "took %s ms, want at most %s", have, want)
			}
		case slices.Contains(timed, key):
			if why := times(unfold(want), have, s.of(key)); why != "" {
				bad(key, "%s", why)
			}
		case key == "per_event":
			if why := times(want, have, slack{}); why != "" {
				bad(key, "%s", why)
			}
		case key == "flags" && !s.exact(): // whether writes came in one read is the kernel's affair
			drop := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "buffered", "")) }
			if drop(want) != drop(have) {
				bad(key, "%q, want %q", have, want)
			}
		case key == "conn" && want == "reused" && have == "new" && !s.exact():
			// What follows [DONE] is read for 50 ms (client.Body.Close), and a busy
			// machine may not bring the end of the body by then: the connection is
			// given up, as it should be. Virtual time proves that it is used again.
		case want != have:
			bad(key, "%q, want %q", clip(have), clip(want))
		}
	}
	if (req.Message == "") != (req.Outcome == tape.OutcomeOK) {
		bad("outcome", "%s with the message %q", req.Outcome, req.Message)
	}
	for _, part := range e.Has {
		if !strings.Contains(req.Message, part) {
			bad("has", "the message %q lacks %q", req.Message, part)
		}
	}
	for _, part := range e.Lacks {
		if strings.Contains(req.Message, part) {
			bad("lacks", "the message %q has %q", req.Message, part)
		}
	}
	for _, part := range e.Seen {
		if !strings.Contains(seen, part) {
			bad("seen", "the request lacks %q:\n%s", part, seen)
		}
	}
	for _, part := range e.Unseen {
		if strings.Contains(seen, part) {
			bad("unseen", "the request has %q:\n%s", part, seen)
		}
	}
	if t.Failed() {
		t.Logf("message: %s", req.Message)
	}
}

// times compares lists of times; each is compared with as many decimals as are
// written down.
func times(want, have string, s slack) string {
	w, h := strings.Fields(want), strings.Fields(have)
	fail := fmt.Sprintf("%s, want %s", orNone(have), orNone(want))
	if len(w) != len(h) {
		return fail
	}
	for i := range w {
		a, err1 := strconv.ParseFloat(w[i], 64)
		b, err2 := strconv.ParseFloat(h[i], 64)
		if err1 != nil || err2 != nil {
			return fail
		}
		if s.exact() {
			_, decimals, _ := strings.Cut(w[i], ".")
			unit := math.Pow(10, float64(len(decimals)))
			if math.Round(b*unit)/unit != a {
				return fail
			}
		} else if b < a-s.early || b > a+s.late {
			return fail
		}
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
