package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/tape"
)

// Failure is a class of failures of a run, and how they lie in it.
type Failure struct {
	Class   string `json:"class"` // ClassName
	Outcome string `json:"outcome"`
	Cause   string `json:"cause,omitempty"`
	Status  int    `json:"http_status,omitempty"`
	Stage   string `json:"stage"`
	Count   int64  `json:"count"`            // requests of all phases that ended so
	Of      int64  `json:"of"`               // that ended at all
	Phases  string `json:"phases"`           // "measure 40, warmup 2"
	Retried int64  `json:"retried_attempts"` // further attempts that ended so, and were followed by another

	First *Moment `json:"first,omitempty"` // by the release; nil where nobody knows when
	Last  *Moment `json:"last,omitempty"`

	// How they lie in the run; a claim of a cluster is one of chance below 1 in 1,000.
	InTime       string `json:"in_time"`
	ByConnection string `json:"by_connection"`
	ByRemote     string `json:"by_remote,omitempty"` // of several addresses
	ByLength     string `json:"by_length"`
	HowFar       string `json:"how_far,omitempty"` // events that had come

	Said     []Saying     `json:"said"` // most frequent first
	SaidMore int64        `json:"said_more,omitempty"`
	Example  *WireExample `json:"example,omitempty"`
	Do       string       `json:"do"`
	Command  string       `json:"command,omitempty"`
}

// WireExample is the first failure of a class with its bytes.
type WireExample = tape.Example

// Moment is when a request was released.
type Moment struct {
	TS   float64 `json:"t_s"` // seconds from the run's t = 0
	Wall string  `json:"wall,omitempty"`
	Seq  int64   `json:"seq"`
}

// Saying is a message and how many failures it has; messages that differ in
// numbers alone are one, as the first of them.
type Saying struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// ClassName is a class as a triage and run.log name it: "http_status 429
// (rate_limit)".
func ClassName(c tape.Class) string {
	name := string(c.Outcome)
	if c.Status != 0 {
		name += fmt.Sprintf(" %d", c.Status)
	}
	if c.Cause != "" {
		name += " (" + c.Cause + ")"
	}
	return name
}

// Bounds of what is kept and shown of failures.
const (
	maxClasses = 64
	maxSayings = 100
	saidShown  = 3
)

// whySeen is what a triage keeps of each request, beside what the analysis does.
type whySeen struct {
	ends     []whyEnd
	classes  map[tape.Class]*whyClass
	examples map[tape.Class]*tape.Example
	remotes  []string
	remote   map[string]int32
}

// whyEnd is how a request ended.
type whyEnd struct {
	released, seq int64 // released: absentTime when it is not known
	conn          int64 // 0: none
	length        int64 // prompt tokens, else bytes of the body; −1: neither is known
	remote        int32 // −1: none
	status        int   // of the answer; 0: none came
	class         *whyClass
	ok, reused    bool
	tokens        bool // length counts tokens
}

// whyClass is a class of failures while it is counted.
type whyClass struct {
	tape.Class
	count, retried       int64
	phases               map[tape.Phase]int64
	headers              int64 // of them, how many had a response header
	events               []int64
	said                 map[string]*Saying
	saidMore             int64
	withTokens, withConn int64
}

func newWhySeen() *whySeen {
	return &whySeen{classes: map[tape.Class]*whyClass{}, examples: map[tape.Class]*tape.Example{}, remote: map[string]int32{}}
}

const absentTime = -1 << 62

func (s *whySeen) add(rec tape.Record) {
	switch q := rec.(type) {
	case *tape.Example:
		if _, ok := s.examples[q.Class()]; !ok {
			s.examples[q.Class()] = q
		}
	case *tape.Request:
		s.request(q)
	}
}

func (s *whySeen) request(q *tape.Request) {
	for i := range q.AttemptLog {
		a := &q.AttemptLog[i]
		if c := s.class(tape.ClassOf(a.Outcome, a.Cause, a.Status)); a.Outcome.Failed() {
			c.retried++
			c.say(a.Message)
		}
	}
	if q.Outcome != tape.OutcomeOK && !q.Outcome.Failed() {
		return // cut short by the user or on purpose
	}
	e := whyEnd{released: q.TReleased.Or(absentTime), seq: q.Seq, length: -1, remote: -1, status: q.HTTP.Status, ok: q.Outcome == tape.OutcomeOK}
	switch n := q.Asked.Input; {
	case n.OK:
		e.length, e.tokens = n.V, true
	case q.Bytes.Sent > 0:
		e.length = q.Bytes.Sent
	}
	if c := q.Conn; c != nil {
		if e.conn, e.reused = c.ID, c.Reused; c.Remote != "" {
			i, ok := s.remote[c.Remote]
			if !ok {
				i = int32(len(s.remotes))
				s.remote[c.Remote], s.remotes = i, append(s.remotes, c.Remote)
			}
			e.remote = i
		}
	}
	if !e.ok {
		c := s.class(tape.ClassOf(q.Outcome, q.Cause, q.HTTP.Status))
		c.count++
		c.phases[q.Phase]++
		if q.HTTP.Status != 0 {
			c.headers++
		}
		if q.TFirstToken.OK {
			c.withTokens++
		}
		if e.conn > 0 {
			c.withConn++
		}
		c.events = append(c.events, int64(len(q.Events.DT)))
		c.say(q.Message)
		e.class = c
	}
	s.ends = append(s.ends, e)
}

// class is that of c; beyond a bound all are one.
func (s *whySeen) class(c tape.Class) *whyClass {
	if s.classes[c] == nil && len(s.classes) >= maxClasses {
		c = tape.Class{Outcome: tape.OutcomeUnknown}
	}
	if s.classes[c] == nil {
		s.classes[c] = &whyClass{Class: c, phases: map[tape.Phase]int64{}, said: map[string]*Saying{}}
	}
	return s.classes[c]
}

func (c *whyClass) say(message string) {
	key := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, message)
	if c.said[key] == nil {
		if len(c.said) >= maxSayings {
			c.saidMore++
			return
		}
		c.said[key] = &Saying{Text: message}
	}
	c.said[key].Count++
}

// failures are the classes, most frequent first.
func (w *why) failures() []Failure {
	s := w.seen
	slices.SortStableFunc(s.ends, func(a, b whyEnd) int { return cmp.Or(cmp.Compare(a.released, b.released), cmp.Compare(a.seq, b.seq)) })
	var out []Failure
	anyOK := slices.ContainsFunc(s.ends, func(e whyEnd) bool { return e.ok })
	for _, c := range s.classes {
		if c.count+c.retried == 0 {
			continue
		}
		f := Failure{
			Class: ClassName(c.Class), Outcome: string(c.Outcome), Cause: c.Cause, Status: c.Status,
			Count: c.count, Of: int64(len(s.ends)), Retried: c.retried, Example: s.examples[c.Class],
			SaidMore: c.saidMore, Phases: phaseCounts(c.phases),
		}
		f.Stage = c.stage(anyOK)
		said := slices.SortedFunc(maps.Values(c.said), func(a, b *Saying) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text)) })
		for _, x := range said {
			if len(f.Said) < saidShown {
				f.Said = append(f.Said, *x)
			} else {
				f.SaidMore += x.Count
			}
		}
		w.lie(c, &f)
		f.Do, f.Command = w.advice(c, &f)
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Retried, a.Retried), cmp.Compare(a.Class, b.Class))
	})
	return out
}

func phaseCounts(m map[tape.Phase]int64) string {
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %s", p, thousands(m[p])))
	}
	return join(parts, ", ")
}

// stage is where a class went wrong. anyOK: the same server answered others well,
// so that what was asked for can be asked of it.
func (c *whyClass) stage(anyOK bool) string {
	switch c.Outcome {
	case tape.OutcomeConnect, tape.OutcomeClient:
		return StageConnect
	case tape.OutcomeStatus:
		switch c.Status {
		case 400, 401, 403, 404, 405, 407, 413, 415, 422:
			if !anyOK || c.Cause == "field" {
				return StageConfiguration
			}
		}
		return StageRequest
	case tape.OutcomeRedirect:
		return StageConfiguration
	case tape.OutcomeNotStream:
		if !anyOK {
			return StageConfiguration
		}
		return StageStream
	case tape.OutcomeTimeout:
		switch {
		case c.Cause == "connect":
			return StageConnect
		case c.withTokens == 0:
			return StageRequest
		}
		return StageStream
	case tape.OutcomeReset, tape.OutcomeUnknown:
		if c.headers == 0 {
			return StageRequest
		}
	}
	return StageStream
}

// advice is what to do about a class, and the command that begins with it.
func (w *why) advice(c *whyClass, f *Failure) (do, command string) {
	spec := w.at.Spec
	with := func(verb, rest string) string {
		if spec == "" {
			return ""
		}
		return strings.TrimSpace("tokentape " + verb + " " + spec + " " + rest)
	}
	first := int64(0)
	if f.First != nil {
		first = f.First.Seq
	}
	shown := ""
	if first < w.run.header.Plan.Rows {
		shown = with("plan", fmt.Sprintf("--show-request %d --curl", first))
	}
	if do := w.run.otherEntry(); do != "" && c.Outcome == tape.OutcomeStatus && (c.Status == 400 || c.Status == 422) {
		return do + ": a worker takes no requests but its router's", shown
	}
	switch c.Outcome {
	case tape.OutcomeConnect:
		if c.Cause == "tls" {
			return "the handshake failed: is the certificate the server's, and does the port speak TLS? (target.ca, target.insecure)", with("probe", "")
		}
		if f.Count < f.Of {
			return "the server stopped listening in mid-run: look at its log at that time, and whether it listens again", with("probe", "")
		}
		return "nothing listens at that address: is the server up, is the port right?", with("probe", "")
	case tape.OutcomeClient:
		return "this machine ran out of descriptors, ports or buffers: the message says which; the server is not to blame", "ulimit -n"
	case tape.OutcomeTimeout:
		switch c.Cause {
		case "connect":
			return "packets are lost on the way: a firewall, a wrong address, or a server whose queue of connections is full", with("probe", "")
		case "first_token":
			return "the server had the requests and no token for them: it is overloaded, or hangs. A lower load, or a longer limits.first_token", "tokentape explain ttft_ms.max " + w.at.Run
		case "idle":
			return "streams fell silent: the server hangs, or something between holds answers back. Hold the id of the example against the server's log, or lengthen limits.idle", "tokentape explain itl_ms.max " + w.at.Run
		}
		return "answers took longer than limits.total: a lower load, shorter answers, or a longer limit", "tokentape explain e2e_ms.max " + w.at.Run
	case tape.OutcomeStatus:
		switch {
		case c.Status == 401 || c.Status == 403:
			return "the server refuses the key: set target.api_key, for example --api-key '${API_KEY}'", shown
		case c.Status == 404 || c.Status == 405:
			return "the path, the API or the model is not what this server serves: --url, --api, --model", shown
		case c.Status == 429:
			return "the server limits the rate: offer less (load.rate, load.concurrency), or try again as it asks: load.attempts, load.retry", with("run", "--attempts 3")
		case c.Cause == "context_length":
			return "prompts with their answers are longer than the model takes: shorter prompts, fewer output tokens, or a longer context", shown
		case c.Status == 400 || c.Status == 422 || c.Status == 413 || c.Status == 415:
			return "the server does not take the request as it is: send the same by hand and read what it says", shown
		case c.Status >= 502 && c.Status <= 504:
			return "what stands before the server cannot reach it, or it sheds load: offer less, or look at the gateway's and the server's logs at that time", with("probe", "")
		case c.Status >= 500:
			return "the server failed: its log at that time, by the request's id, says why", shown
		}
		return "send the same request by hand and read what it says", shown
	case tape.OutcomeRedirect:
		return "redirects are not followed, since a POST does not survive them: give the address that the message names as target.url", shown
	case tape.OutcomeNotStream:
		return "a page or another API answers there: a gateway's login, a wrong path or a wrong --api", shown
	case tape.OutcomeReset:
		if strings.HasPrefix(f.ByConnection, "all on connections that were used before") {
			return "the server closes idle connections just when they are used again: its keep-alive time is shorter than the pauses; load.retry with reset tries again", shown
		}
		return "the connection was cut: the server crashed, restarted or shed load, or something between has a limit of its own. Hold the time against the server's log", with("probe", "")
	case tape.OutcomeTruncated:
		return "streams ended without an end mark: the server's worker died, or a proxy between has a limit of time or size. Hold time and id against their logs", shown
	case tape.OutcomeMalformed:
		return "events that are no JSON of this API: is --api right? Otherwise it is a fault of the server; the bytes of the example go into the report of it", shown
	case tape.OutcomeTooLarge:
		return "an event, or the number of them, is beyond all bounds: a fault of the server, or another API", shown
	case tape.OutcomeServer:
		return "the server says that it failed inside of an answer: its log at that time, by the request's id, says why", shown
	case tape.OutcomeEmpty, tape.OutcomeFiltered:
		return "answers without output: a filter, a stop token at once, or min_tokens not honoured. workload.sampling.ignore_eos asks for full length", shown
	case tape.OutcomeAborted:
		return "the server gave these up itself, for want of memory or because it restarts: its log at that time says why", shown
	}
	return "see the message", shown
}
