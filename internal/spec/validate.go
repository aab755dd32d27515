package spec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Validate checks a Spec: each field alone, then fields side by side. An option
// that has no effect beside the others is an error. A missing URL or dataset is
// not: only what needs one can say so. Positions are those of Read; a Spec made
// in code has none.
func (s *Spec) Validate() []Issue {
	if !s.Search.IsZero() {
		return appendNew(s.checkFields(), s.checkSearch())
	}
	if !s.Sweep.IsZero() {
		return appendNew(s.checkFields(), s.checkSweep())
	}
	return appendNew(s.checkFields(), s.checkTogether())
}

// where is the place of a field; when it was not given, of what was given
// nearest to it: the section it is in, a part of it, or its neighbour in a
// section within a section.
func (s *Spec) where(path string) place {
	for p := path; p != ""; p, _ = split(p) {
		if at, ok := s.from[p]; ok {
			return at
		}
	}
	near := []string{path + "."}
	if parent, _ := split(path); strings.Contains(parent, ".") {
		near = append(near, parent+".")
	}
	for _, prefix := range near {
		for _, p := range sorted(s.from) {
			if strings.HasPrefix(p, prefix) {
				return s.from[p]
			}
		}
	}
	return place{}
}

type checker struct {
	s      *Spec
	issues []Issue
}

func (c *checker) bad(path, hint, format string, args ...any) {
	c.issues = append(c.issues, c.s.where(path).issue(path, hint, format, args...))
}

func (c *checker) note(path, hint, format string, args ...any) {
	c.bad(path, hint, format, args...)
	c.issues[len(c.issues)-1].Warning = true
}

var (
	sourcePattern = regexp.MustCompile(`^\S+$`)
	headerName    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 token
)

// Limits of what can be asked; beyond them is a mistake, and arithmetic in
// nanoseconds would not hold.
const (
	maxCount    = 50_000_000 // requests, warm-ups, requests in flight
	minRate     = 1e-6       // requests/s
	maxRate     = 1e6
	maxDuration = Duration(10 * 365 * 24 * time.Hour)
	minInterval = Duration(10 * time.Millisecond)
)

// checkFields checks every field by itself.
func (s *Spec) checkFields() []Issue {
	c := &checker{s: s}
	if p := nameProblem(s.Name); p != "" {
		c.bad("name", "it becomes a folder under runs/; use letters, digits, - and _", "%q %s", clip(s.Name), p)
	}
	all := choices()
	for _, f := range []struct {
		path, value string
		empty       bool // "" means not given
	}{
		{"target.api", s.Target.API, false},
		{"target.http", s.Target.HTTP, false},
		{"target.resolve", s.Target.Resolve, false},
		{"workload.repeat", s.Workload.Repeat, false},
		{"workload.order", s.Workload.Order, false},
		{"workload.cache", s.Workload.Cache, false},
		{"workload.dataset.format", s.Workload.Dataset.Format, false},
		{"workload.dataset.on_bad_row", s.Workload.Dataset.OnBadRow, false},
		{"workload.dataset.turns", s.Workload.Dataset.Turns, false},
		{"workload.dataset.time_unit", s.Workload.Dataset.TimeUnit, false},
		{"load.arrivals", s.Load.Arrivals, false},
		{"workload.history", s.Workload.History, false},
		{"load.think.kind", s.Load.Think.Kind, false},
		{"load.ramp.shape", s.Load.Ramp.Shape, true},
		{"load.tail", s.Load.Tail, false},
		{"probe", s.Probe, false},
		{"record.output", s.Record.Output, false},
		{"telemetry.kernel_stamps", s.Telemetry.KernelStamps, false},
	} {
		if !slices.Contains(all[f.path], f.value) && !(f.empty && f.value == "") {
			message, hint := unknownChoice(f.value, all[f.path])
			c.bad(f.path, hint, "%s", message)
		}
	}
	c.target()
	c.workload()
	c.load()
	c.schedule()
	c.prepare()
	c.masks()
	c.retry()
	c.limits()
	c.report()
	c.devices()
	c.economy()
	c.expect()
	c.telemetry()
	c.notes()
	c.sweep()
	c.search()
	for _, f := range []struct {
		path  string
		value *int64
	}{{"seeds.run", &s.Seeds.Run}, {"seeds.arrivals", s.Seeds.Arrivals}, {"seeds.order", s.Seeds.Order}, {"seeds.retry", s.Seeds.Retry}, {"seeds.abandon", s.Seeds.Abandon}, {"seeds.think", s.Seeds.Think}, {"seeds.mix", s.Seeds.Mix}} {
		if f.value != nil && *f.value < 0 {
			c.bad(f.path, "", "%d is negative", *f.value)
		}
	}
	return c.issues
}

// nameProblem says why a name cannot be a folder's, or "".
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsAny(name, `/\`):
		return "contains a slash"
	case strings.HasPrefix(name, "."):
		return "begins with a dot"
	case len(name) > 100:
		return "is longer than 100 bytes"
	case strings.TrimSpace(name) != name || strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) >= 0:
		return "contains space at an end, or characters that cannot be printed"
	}
	return ""
}

// ownHeaders are set by the client or the protocol; a given one would be
// dropped or break the request.
var ownHeaders = []string{"accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding", "upgrade", "trailer", "te", "keep-alive", "proxy-connection"}

func (c *checker) target() {
	t := c.s.Target
	c.api()
	c.network()
	c.apiKey("target.api_key", t.APIKey)
	seen := c.headers("target.headers.", t.Headers)
	switch id := t.SessionHeader; {
	case id == "":
	case !headerName.MatchString(id):
		c.bad("target.session_header", "letters, digits and -, such as X-Session-Id", "%q cannot be a header's name", clip(id))
	case slices.Contains(ownHeaders, strings.ToLower(id)) || strings.EqualFold(id, "Authorization"):
		c.bad("target.session_header", "another name", "%s has a meaning of its own", id)
	case strings.EqualFold(id, t.RequestIDHeader):
		c.bad("target.session_header", "another name", "target.request_id_header sends the same header")
	case seen[strings.ToLower(id)] != "":
		c.bad("target.session_header", "keep one", "target.headers.%s sends the same header", seen[strings.ToLower(id)])
	}
	if f := t.MaxTokensField; f != "" {
		if own := ownBody[f]; own != "" && own != outputLength {
			c.bad("target.max_tokens_field", "such as max_completion_tokens", "%s is set by %s", f, own)
		} else if !bodyField.MatchString(f) {
			c.bad("target.max_tokens_field", "letters, digits, _ and -, such as max_completion_tokens", "%q cannot be the name of a field", clip(f))
		} else if _, too := c.s.Workload.Sampling[f]; too {
			c.bad("target.max_tokens_field", "take it out of workload.sampling: "+outputLength+" gives its value", "workload.sampling.%s gives the same field", f)
		}
	}
	switch id := t.RequestIDHeader; {
	case id == "":
	case !headerName.MatchString(id):
		c.bad("target.request_id_header", `letters, digits and -, such as X-Request-Id; "" sends none`, "%q cannot be a header's name", clip(id))
	case slices.Contains(ownHeaders, strings.ToLower(id)) || strings.EqualFold(id, "Authorization"):
		c.bad("target.request_id_header", "another name", "%s has a meaning of its own", id)
	case seen[strings.ToLower(id)] != "" && c.s.given("target.request_id_header"):
		c.bad("target.request_id_header", "keep one", "has no effect: target.headers.%s sends the same header", seen[strings.ToLower(id)])
	}
}

// headers checks the names and values of headers, and gives the names by their lower case.
func (c *checker) headers(prefix string, headers map[string]string) map[string]string {
	seen := map[string]string{}
	for _, name := range sorted(headers) {
		path, lower := prefix+name, strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			c.bad(path, "letters, digits and -", "%q cannot be a header's name", clip(name))
		case !validHeaderValue(headers[name]):
			c.bad(path, "check for a line end", "the value cannot stand in a header")
		case slices.Contains(ownHeaders, lower):
			c.bad(path, "remove it", "this header is the client's own")
		case seen[lower] != "":
			c.bad(path, "keep one", "the same header as %s", seen[lower])
		}
		seen[lower] = name
	}
	return seen
}

func (c *checker) apiKey(path, key string) {
	if key == mask {
		c.note(path, "give the key: api_key: ${API_KEY}, or --set target.api_key=…", "*** is a mask, not a key")
	}
	if !validHeaderValue(key) || strings.TrimSpace(key) != key {
		c.bad(path, "check for a line end or a space at an end", "the key cannot stand in a header")
	}
}

// validHeaderValue reports whether a header can carry v: no control characters
// but tabs (RFC 9110, field-value).
func validHeaderValue(v string) bool {
	return strings.IndexFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// bodyField is the name of a field of a request body.
var bodyField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// outputLength gives the output length of requests.
const outputLength = "workload.output_tokens"

// ownBody are body fields that other settings give.
var ownBody = map[string]string{
	"model":                 "target.model",
	"max_tokens":            outputLength,
	"max_completion_tokens": outputLength,
	"stream":                "workload.stream",
	"messages":              "workload.template and workload.system",
	"prompt":                "workload.template",
}

func (c *checker) workload() {
	w := c.s.Workload
	if w.Template == "" {
		c.bad("workload.template", `such as "{question}"`, "is empty, so that nothing would be asked")
	}
	c.dataset()
	c.mix()
	c.includeUsage()
	if w.OutputTokens < 0 {
		c.bad("workload.output_tokens", "0 leaves it to the server", "%d is negative", w.OutputTokens)
	} else if w.OutputTokens > math.MaxInt32 {
		c.bad("workload.output_tokens", "", "%d is too large", w.OutputTokens)
	}
	for _, key := range sorted(w.Sampling) {
		path := "workload.sampling." + key
		if own := ownBody[key]; own != "" {
			mend := "use " + own
			if own == outputLength && key != "max_tokens" {
				mend += ", and target.max_tokens_field: " + key
			}
			c.bad(path, mend, "%s is set by %s", key, own)
		}
		if bad := notJSON(w.Sampling[key]); bad != "" {
			c.bad(path, "", "%s cannot be sent as JSON", bad)
		}
	}
}

// notJSON names what in a free value JSON cannot say, or "".
func notJSON(v any) string {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []any:
		for _, e := range v {
			if bad := notJSON(e); bad != "" {
				return bad
			}
		}
	case map[string]any:
		for _, e := range v {
			if bad := notJSON(e); bad != "" {
				return bad
			}
		}
	}
	return ""
}

func (c *checker) load() {
	l := c.s.Load
	for _, f := range []struct {
		path, zero string // zero: what 0 would mean; "" when 0 is fine
		value      int64
	}{
		{"load.requests", "would send nothing", l.Requests},
		{"load.concurrency", "would send nothing", l.Concurrency},
		{"load.warmup", "", l.Warmup},
		{"load.sessions", "would send nothing", l.Sessions},
		{"load.session_concurrency", "would send nothing", l.SessionConcurrency},
		{"load.attempts", "would send nothing", l.Attempts},
	} {
		given := c.s.given(f.path)
		switch {
		case f.value < 0:
			c.bad(f.path, "", "%d is negative", f.value)
		case f.value > maxCount:
			c.bad(f.path, fmt.Sprintf("at most %d", maxCount), "%d is too large", f.value)
		case f.value == 0 && f.path == "load.attempts":
			c.bad(f.path, "1 sends once", "0 %s", f.zero)
		case f.value == 0 && f.zero != "" && given:
			hint := "1 or more"
			if f.path == "load.concurrency" {
				hint = "1 or more; for no cap leave it out and give load.rate"
			} else if f.path == "load.requests" {
				hint = "1 or more; for a run bound by time leave it out and give load.duration"
			}
			c.bad(f.path, hint, "0 %s", f.zero)
		}
	}
	rate := func(path string, v float64) {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			c.bad(path, "", "%v is not a finite number", v)
		case v < 0:
			c.bad(path, "", "%v is negative", v)
		case v == 0 && c.s.given(path):
			c.bad(path, "for a closed loop leave it out", "0 requests per second would never send")
		case v != 0 && (v < minRate || v > maxRate):
			c.bad(path, fmt.Sprintf("from %v to %.0f requests per second", minRate, maxRate), "%v is out of range", v)
		}
	}
	rate("load.rate", l.Rate)
	if f := l.Ramp.From; f != 0 || c.s.given("load.ramp.from") {
		if !(f >= minRate) || math.IsInf(f, 0) {
			c.bad("load.ramp.from", "above 0; 1 when left out", "%v is no starting value", f)
		}
	}
	if b := l.Burstiness; !(b >= 1e-3 && b <= 1e6) {
		c.bad("load.burstiness", "from 0.001 to 1000000; 1 is Poisson, smaller is burstier", "%v is out of range", b)
	}
	c.duration("load.duration", l.Duration)
	c.duration("load.ramp.duration", l.Ramp.Duration)
	for _, f := range []struct {
		path string
		v    Duration
	}{{"load.duration", l.Duration}, {"load.ramp.duration", l.Ramp.Duration}} {
		if f.v == 0 && c.s.given(f.path) {
			c.bad(f.path, "a length such as 30s, or leave it out", "0s has no effect")
		}
	}
}

func (c *checker) duration(path string, d Duration) {
	switch {
	case d < 0:
		c.bad(path, "", "%s is negative", d)
	case d > maxDuration:
		c.bad(path, "", "%s is too long", d)
	}
}

func (c *checker) limits() {
	l := c.s.Limits
	c.duration("limits.connect", l.Connect)
	c.duration("limits.first_token", l.FirstToken)
	c.duration("limits.idle", l.Idle)
	c.duration("limits.total", l.Total)
	c.duration("limits.keep_alive", l.KeepAlive)
	c.duration("limits.drain", l.Drain)
	if f := l.FailedShare; !(f >= 0 && f <= 1) {
		c.bad("limits.failed_share", "a share: 0.01 is 1 %", "%v is not from 0 to 1", f)
	}
}

func (c *checker) report() {
	r := c.s.Report
	known := choices()["report.windows"]
	if len(r.Windows) == 0 {
		c.bad("report.windows", "one or more of: "+strings.Join(known, ", ")+", "+windowHint, "no window, so nothing to report")
	}
	for i, w := range r.Windows {
		path := fmt.Sprintf("report.windows[%d]", i)
		switch {
		case looksOwn(w) && !OwnWindow(w):
			c.bad(path, "such as "+windowHint, "%q is no span of seconds or rows that ends after it begins, and no phase", w)
		case !looksOwn(w) && !slices.Contains(known, w):
			message, hint := unknownChoice(w, known)
			c.bad(path, hint, "%s", message)
		case slices.Contains(r.Windows[:i], w):
			c.bad(path, "keep one", "%s is given twice", w)
		}
	}
	for i, name := range r.Strict {
		path := fmt.Sprintf("report.strict[%d]", i)
		if !slices.Contains(CheckNames, name) {
			message, hint := unknownChoice(name, CheckNames)
			c.bad(path, hint, "%s", message)
		} else if slices.Contains(r.Strict[:i], name) {
			c.bad(path, "keep one", "%s is given twice", name)
		}
	}
	for _, f := range []struct {
		path  string
		value float64
	}{{"report.slo.ttft_ms", r.SLO.TTFT}, {"report.slo.ttft_from_due_ms", r.SLO.TTFTFromDue}, {"report.slo.tpot_ms", r.SLO.TPOT}, {"report.slo.itl_ms", r.SLO.ITL},
		{"report.slo.e2e_ms", r.SLO.E2E}, {"report.slo.e2e_from_due_ms", r.SLO.E2EFromDue}} {
		if f.value == 0 && !c.s.given(f.path) {
			continue
		}
		if !(f.value > 0) || math.IsInf(f.value, 0) {
			c.bad(f.path, "milliseconds above 0; leave it out for no limit", "%v is no limit that could be met", f.value)
		}
	}
	// A limit on the whole that is below one on its first part is never the one
	// that was meant: seconds and milliseconds, or names, were mixed up.
	for _, f := range []struct {
		whole, part string
		w, p        float64
	}{{"report.slo.e2e_ms", "report.slo.ttft_ms", r.SLO.E2E, r.SLO.TTFT}, {"report.slo.e2e_from_due_ms", "report.slo.ttft_from_due_ms", r.SLO.E2EFromDue, r.SLO.TTFTFromDue}} {
		if f.w > 0 && f.p > f.w {
			c.bad(f.part, fmt.Sprintf("%v or less, or leave it out", f.w), "%v can never be missed alone: %s is %v, and the last token is no earlier than the first", f.p, f.whole, f.w)
		}
	}
}
