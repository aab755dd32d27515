package probe

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/simserver"
	"tokentape/tape"
)

// world is a server in virtual time, and everything that a probe of it wrote.
type world struct {
	api      string
	opts     simserver.Options
	wrap     func(http.Handler) http.Handler
	what     string
	sampling map[string]any
	ctx      context.Context
}

type seen struct {
	look     *Result
	lookErr  error
	caps     *tape.Capabilities
	err      error
	requests []*tape.Request
	steps    []tape.Step
	bodies   []string
	took     time.Duration
}

// step is the step of a name.
func (s *seen) step(t *testing.T, name string) tape.Step {
	t.Helper()
	for _, st := range s.steps {
		if st.Name == name {
			return st
		}
	}
	t.Fatalf("no step %q in %+v", name, s.steps)
	return tape.Step{}
}

// probed looks and asks, as the command does.
func (w world) probed(t *testing.T) (out seen) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		s := simserver.NewWithClock(w.opts, clk)
		var mu sync.Mutex
		var h http.Handler = s
		if w.wrap != nil {
			h = w.wrap(h)
		}
		l := memnet.Listen()
		srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				out.bodies = append(out.bodies, string(body))
				mu.Unlock()
				r.Body = io.NopCloser(strings.NewReader(string(body)))
			}
			h.ServeHTTP(rw, r)
		})}
		go srv.Serve(l)
		defer func() { srv.Close(); s.Close(); synctest.Wait() }()
		c := client.New(client.Config{Clock: clk, Dial: l.Dial, Connect: time.Second})
		defer c.Close()
		if w.api == "" {
			w.api = "openai-chat"
		}
		of := func(stream bool) dialect.Dialect {
			d, err := dialect.New(w.api, dialect.Setup{Model: "sim-7b", Stream: stream})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		base, _, err := spec.ResolveURL("sim", of(true).Path())
		if err != nil {
			t.Fatal(err)
		}
		if w.ctx == nil {
			w.ctx = context.Background()
		}
		head := http.Header{}
		head.Set("Authorization", "Bearer "+key)
		out.look, out.lookErr = Look{Get: c, Base: base, Header: head, Secrets: secret.New([]string{key}), Now: clk.Now, All: true}.Do(w.ctx)
		out.steps = slices.Clone(out.look.Steps)
		p := Prober{
			Clock: clk, Base: base, Whole: of(false), Stream: of(true), Model: "sim-7b", RunID: "r", Nonce: "n1", Look: out.look, Sampling: w.sampling,
			Exchange: exchange.Config{Client: c, Clock: clk, Header: head, Secrets: []string{key}, Limits: exchange.Limits{FirstToken: 10 * time.Minute}},
			Book:     func(q *tape.Request) { out.requests = append(out.requests, q) },
			Emit:     func(s tape.Step) { out.steps = append(out.steps, s) },
		}
		before := clk.Now()
		out.caps, out.err = p.Run(w.ctx, w.what)
		out.took = time.Duration(clk.Now() - before)
	})
	// What holds of every probe.
	for i, q := range out.requests {
		if err := q.Check(); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		if q.Phase != tape.PhaseProbe || q.Seq != tape.ProbeSeq+int64(i) || q.Asked.Output.V > maxOutput || q.Asked.Output.V == 0 {
			t.Errorf("request %d: %+v", i, q)
		}
	}
	for _, by := range out.caps.By {
		if !strings.HasPrefix(by, "probe-") {
			t.Errorf("by %q", by)
		}
	}
	return out
}

func sim(change ...func(*simserver.Options)) simserver.Options {
	o := simserver.Defaults()
	o.OutputMean, o.OutputCV = 10, 0
	for _, f := range change {
		f(&o)
	}
	return o
}

// The simulated server in its three moods of reporting cached tokens, with and
// without leave to touch the cache.
func TestCacheReport(t *testing.T) {
	for _, c := range []struct {
		mood       simserver.CacheReport
		what, want string
		fields     int
	}{
		{simserver.CacheReportOn, Whole, tape.CachedAlways, 1},
		{simserver.CacheReportAboveZero, Whole, tape.CachedAbove, 1},
		{simserver.CacheReportOff, Whole, tape.CachedNever, 0},
		{simserver.CacheReportOn, Cache, tape.CachedAlways, 1},
		{simserver.CacheReportAboveZero, Cache, tape.CachedAbove, 1},
		{simserver.CacheReportOff, Cache, tape.CachedNever, 0},
		{simserver.CacheReportOn, Full, tape.CachedAlways, 1}, // a 0 shows without a repeat
		{simserver.CacheReportAboveZero, Full, "", 0},
		{simserver.CacheReportOff, Full, "", 0},
		{simserver.CacheReportAboveZero, Short, "", 0},
	} {
		t.Run(string(c.mood)+" "+c.what, func(t *testing.T) {
			got := world{opts: sim(func(o *simserver.Options) { o.CacheReport = c.mood }), what: c.what}.probed(t)
			if got.err != nil {
				t.Fatal(got.err)
			}
			k := got.caps
			if k.CachedTokens != c.want || len(k.CachedFields) != c.fields || k.How["cached_tokens"] == "" {
				t.Errorf("%q %v: %s", k.CachedTokens, k.CachedFields, k.How["cached_tokens"])
			}
			if n := map[string]int{Short: 2, Cache: 4, Full: 8, Whole: 10}[c.what]; len(got.requests) != n {
				t.Errorf("%d requests, want %d", len(got.requests), n)
			}
			if c.want == tape.CachedNever && (!slices.Contains(k.Inferred, "cached_tokens") || !strings.Contains(k.How["cached_tokens"], "although the cache served it")) {
				t.Errorf("inferred %q: %s", k.Inferred, k.How["cached_tokens"])
			}
			hits := 0
			for i, q := range got.requests {
				for _, p := range got.requests[:i] {
					if p.Ref.SHA256 == q.Ref.SHA256 {
						hits++
					}
				}
			}
			if want := map[string]int{Cache: 1, Whole: 1}[c.what]; hits != want {
				t.Errorf("%d prompts were sent again, want %d", hits, want)
			}
		})
	}
}

// Without a hit, a count that does not come is no proof that none is reported; with
// reporting that says 0, too, it is one of always.
func TestNothingFromTheCache(t *testing.T) {
	for _, c := range []struct {
		mood simserver.CacheReport
		want string
	}{{simserver.CacheReportOff, tape.CachedUnknown}, {simserver.CacheReportAboveZero, tape.CachedUnknown}, {simserver.CacheReportOn, tape.CachedAlways}} {
		got := world{opts: sim(func(o *simserver.Options) { o.CacheReport, o.Cache = c.mood, false }), what: Cache}.probed(t)
		if k := got.caps; got.err != nil || k.CachedTokens != c.want || slices.Contains(k.Inferred, "cached_tokens") {
			t.Errorf("%s: %q, inferred %q: %s; %v", c.mood, k.CachedTokens, k.Inferred, k.How["cached_tokens"], got.err)
		}
	}
}

// posts answers each POST as answer says, which reports whether it did.
func posts(answer func(w http.ResponseWriter, body string) bool) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				b, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(b)))
				if answer(w, string(b)) {
					return
				}
			}
			h.ServeHTTP(w, r)
		})
	}
}

// A refusal says something of a field only where the server takes a request without it.
func TestRefusals(t *testing.T) {
	refuse := func(w http.ResponseWriter, status int) bool {
		w.WriteHeader(status)
		io.WriteString(w, `{"error":{"message":"no"}}`)
		return true
	}
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, body string) bool
		want   map[string]bool
		how    string // of min_tokens
		failed int
	}{
		{"all", func(w http.ResponseWriter, _ string) bool { return refuse(w, 400) }, nil, "refuses every request", 8},
		{"min_tokens", func(w http.ResponseWriter, body string) bool {
			return strings.Contains(body, "min_tokens") && refuse(w, 400)
		}, map[string]bool{"min_tokens": false, "ignore_eos": true, "max_tokens": true, "max_completion_tokens": true}, "takes a request without it", 0},
		{"max_completion_tokens", func(w http.ResponseWriter, body string) bool {
			return strings.Contains(body, "max_completion_tokens") && refuse(w, 422)
		}, map[string]bool{"min_tokens": true, "ignore_eos": true, "max_tokens": true, "max_completion_tokens": false}, "24 tokens with min_tokens", 0},
		{"too often", func(w http.ResponseWriter, body string) bool {
			return strings.Contains(body, "min_tokens") && refuse(w, 429)
		}, map[string]bool{"ignore_eos": true, "max_tokens": true, "max_completion_tokens": true}, "did not end well: http_status 429", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := world{opts: sim(), what: Full, wrap: posts(c.answer)}.probed(t)
			if d := cmp.Diff(c.want, got.caps.Honoured); d != "" {
				t.Error(d, got.caps.How)
			}
			if how := got.caps.How["min_tokens"]; !strings.Contains(how, c.how) {
				t.Errorf("min_tokens: %s", how)
			}
			failed := 0
			for _, s := range got.steps {
				if s.Result == tape.StepFailed {
					failed++
				}
			}
			if failed != c.failed {
				t.Errorf("%d steps failed, want %d", failed, c.failed)
			}
		})
	}
}

// A server whose answers always end after three tokens for length bounds nothing.
func TestAlwaysCut(t *testing.T) {
	o := sim()
	o.Scripts = []simserver.Script{{Path: "a.case", Text: "answer\n  @9 e(C(a)) @20 e(C(b)) @30 e(C(c)) @30 e(FIN(length)) @30 e(U(5,3)) DONE END\n"}}
	k := world{opts: o, what: Full}.probed(t).caps
	if len(k.Honoured) != 0 || k.MaxTokensField != "" || !strings.Contains(k.How["max_tokens"], "something else cut the answer") {
		t.Errorf("%v %q: %s", k.Honoured, k.MaxTokensField, k.How["max_tokens"])
	}
}

// All that the simulated server shows of itself.
func TestFull(t *testing.T) {
	got := world{opts: sim(), what: Whole, sampling: map[string]any{"temperature": 0.5, "ignore_eos": true, "n": 3}}.probed(t)
	if got.err != nil || got.lookErr != nil {
		t.Fatal(got.err, got.lookErr)
	}
	k := *got.caps
	if !slices.Equal(k.CachedBy, []string{"probe-8", "probe-9"}) {
		t.Errorf("cached by %q", k.CachedBy)
	}
	k.How, k.By, k.CachedBy = nil, nil, nil
	want := tape.Capabilities{
		Type: "capabilities", Usage: tape.UsageEnd, UsageWhole: tape.Some(true), CachedTokens: tape.CachedAbove,
		CachedFields:   []string{"usage.prompt_tokens_details.cached_tokens"},
		ReasoningField: "reasoning_content", TokensPerEvent: tape.Some(1.0), RoleFirst: tape.Some(true), RoleChunk: tape.RoleWith,
		MaxTokensField: "max_tokens", Honoured: map[string]bool{"ignore_eos": true, "min_tokens": true, "max_tokens": true, "max_completion_tokens": true},
		Finish: []string{"length", "stop"}, ChatOverhead: tape.Some(int64(7)), Context: tape.Some(int64(32768)), Entry: tape.EntryUnified, Model: "sim-7b",
		Inferred: []string{"chat_overhead", "reasoning_field", "role_chunk"},
	}
	if d := cmp.Diff(want, k); d != "" {
		t.Error(d)
	}
	for _, b := range got.bodies {
		if !strings.Contains(b, `"temperature":0.5`) || strings.Contains(b, `"n":`) {
			t.Errorf("body %s", b)
		}
	}
	if strings.Count(strings.Join(got.bodies, ""), "ignore_eos") != 1 {
		t.Error("ignore_eos is the user's own, and would hide what the probe tries")
	}
	for _, st := range got.steps {
		if st.Result == tape.StepFailed {
			t.Errorf("%+v", st)
		}
	}
	if st := got.step(t, "connect"); !st.T.OK || st.Seen == "" {
		t.Errorf("%+v", st)
	}
}

// A longer answer shows that max_tokens is obeyed, and that nothing can be said of
// ignore_eos.
func TestLongAnswers(t *testing.T) {
	got := world{opts: sim(func(o *simserver.Options) { o.OutputMean = 400 }), what: Full}.probed(t)
	k := got.caps
	if d := cmp.Diff(map[string]bool{"max_tokens": true, "max_completion_tokens": true}, k.Honoured); d != "" || k.MaxTokensField != "max_tokens" {
		t.Error(d, k.MaxTokensField)
	}
	for _, f := range []string{"ignore_eos", "min_tokens"} {
		if !strings.Contains(k.How[f], "no difference") {
			t.Errorf("%s: %s", f, k.How[f])
		}
	}
}

// Other APIs, as far as each tells.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		api      string
		requests int
		length   string
		overhead bool
	}{
		{"openai-completions", 7, "max_tokens", false},
		{"sglang-generate", 6, "max_new_tokens", false},
		{"ollama", 7, "num_predict", true},
		{"tgi", 4, "max_new_tokens", false},
		{"llamacpp", 5, "n_predict", false},
		{"openai-responses", 7, "max_output_tokens", true},
		{"anthropic-messages", 7, "max_tokens", true},
		{"triton-generate", 4, "max_tokens", false},
	} {
		t.Run(c.api, func(t *testing.T) {
			got := world{api: c.api, opts: sim(func(o *simserver.Options) { o.OutputMean = 400 }), what: Whole}.probed(t)
			if got.err != nil {
				t.Fatal(got.err)
			}
			k := got.caps
			if len(got.requests) != c.requests || k.ChatOverhead.OK != c.overhead || !k.Honoured[c.length] {
				t.Errorf("%d requests, overhead %v, honoured %v: %v", len(got.requests), k.ChatOverhead, k.Honoured, k.How)
			}
			if k.Usage == "" || k.How["cached_tokens"] == "" || k.How["ignore_eos"] == "" && k.How[eosFields[c.api]] == "" {
				t.Errorf("%+v", k)
			}
		})
	}
}

// Servers as timelines: the first answer is that in one piece, the second the stream.
func TestTimelines(t *testing.T) {
	const whole = `answer
  @50 {"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}} END
`
	for _, c := range []struct {
		name, script string
		check        func(t *testing.T, k *tape.Capabilities)
	}{
		{"a role chunk before prefill", "answer\n  @1 e(ROLE) @200 e(C(a)) @210 e(C(b)) @220 e(C(c)) @230 e(C(d)) @230 e(FIN(length)) @230 e(U(5,4)) DONE END\n", func(t *testing.T, k *tape.Capabilities) {
			if k.RoleChunk != tape.RoleBefore || k.RoleFirst != tape.Some(true) || k.Usage != tape.UsageEnd || k.TokensPerEvent != tape.Some(1.0) {
				t.Errorf("%+v", k)
			}
		}},
		{"no usage", "answer\n  @1 e(C(a)) @20 e(C(b)) @20 e(FIN(stop)) DONE END\n", func(t *testing.T, k *tape.Capabilities) {
			if k.Usage != tape.UsageNever || k.UsageWhole != tape.Some(true) || k.RoleFirst != tape.Some(false) || k.RoleChunk != "" || k.TokensPerEvent.OK {
				t.Errorf("%+v", k)
			}
		}},
		{"usage in every chunk", "answer\n  @9 e(with(C(a), {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}})) @20 e(with(C(b), {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}})) @20 e(FIN(stop)) DONE END\n", func(t *testing.T, k *tape.Capabilities) {
			if k.Usage != tape.UsageEvery {
				t.Errorf("%+v", k)
			}
		}},
		{"reasoning", "answer\n  @9 e(D({\"reasoning\":\"hm\"})) @20 e(C(b)) @20 e(FIN(stop)) DONE END\n", func(t *testing.T, k *tape.Capabilities) {
			if k.ReasoningField != "reasoning" || len(k.Inferred) != 0 {
				t.Errorf("%+v", k)
			}
		}},
		{"drafts in bursts", "answer\n  @9 e(C(ab)) @20 e(C(cd)) @30 e(C(ef)) @40 e(C(gh)) @40 e(FIN(stop)) @40 e(with(U(3,8), {\"spec_verify_ct\": 4})) DONE END\n", func(t *testing.T, k *tape.Capabilities) {
			if k.TokensPerEvent != tape.Some(2.0) || !slices.Equal(k.Speculation, []string{"spec_verify_ct"}) {
				t.Errorf("%+v", k)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := sim()
			o.Scripts = []simserver.Script{{Path: "a.case", Text: whole + c.script}}
			got := world{opts: o, what: Short}.probed(t)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.caps.Model != "m" {
				t.Errorf("model %q", got.caps.Model)
			}
			c.check(t, got.caps)
		})
	}
}

// A server that knows no other length field than its own goes on and on with the
// other: the stream is closed, and that is an answer.
func TestIgnoredField(t *testing.T) {
	got := world{opts: sim(func(o *simserver.Options) { o.OutputMean = 4000 }), what: Full, wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			body := strings.Replace(string(b), "max_completion_tokens", "max_unknown", 1)
			r.Body = io.NopCloser(strings.NewReader(body))
			if strings.Contains(body, "min_tokens") {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":{"message":"Unsupported parameter: min_tokens"}}`)
				return
			}
			h.ServeHTTP(w, r)
		})
	}}.probed(t)
	if got.err != nil {
		t.Fatal(got.err)
	}
	k := got.caps
	if v, ok := k.Honoured["max_completion_tokens"]; v || !ok || !k.Honoured["max_tokens"] || k.MaxTokensField != "max_tokens" {
		t.Errorf("%v %v", k.Honoured, k.How)
	}
	if v, ok := k.Honoured["min_tokens"]; v || !ok || !strings.Contains(k.How["min_tokens"], "refuses") {
		t.Errorf("%v %v", k.Honoured, k.How)
	}
	if q := got.requests[2]; q.Outcome != tape.OutcomeAbandoned || q.TEnd.V-q.TReleased.V > int64(10*time.Second) {
		t.Errorf("%+v", q)
	}
}

// A worker of a disaggregated service, by its own word and by its refusal.
func TestWorker(t *testing.T) {
	o := sim(func(o *simserver.Options) { o.Worker = simserver.NodeDecode })
	got := world{opts: o, what: Full}.probed(t)
	if got.caps.Entry != tape.EntryDecode || len(got.look.Notes) != 1 || !strings.Contains(got.look.Notes[0], "not the unified entry") {
		t.Errorf("%q, notes %q", got.caps.Entry, got.look.Notes)
	}
	if st := got.step(t, "engine"); !strings.Contains(st.Do, "router") {
		t.Errorf("%+v", st)
	}
	if st := got.step(t, "whole"); st.Result != tape.StepFailed || !strings.Contains(st.Do, "router") {
		t.Errorf("%+v", st)
	}
	if st := got.step(t, "stream"); st.Result != tape.StepFailed { // a failed step hides no later one
		t.Errorf("%+v", st)
	}
	var f *FailedError
	if !errors.As(got.err, &f) || f.Step != "whole" {
		t.Errorf("%v", got.err)
	}
	got = world{opts: o, what: Short, wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "server_info") {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}}.probed(t)
	if got.caps.Entry != tape.EntryWorker || !slices.Contains(got.caps.Inferred, "entry") {
		t.Errorf("%q %v", got.caps.Entry, got.caps.How["entry"])
	}
}

// Servers on which nothing works end each request within its bound, and the whole
// within its own; a key never stands in what was seen.
func TestBounds(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		what   string
		took   time.Duration
		do     string
	}{
		{"hangs", hang, Full, maxProbe, "hangs like this"},
		{"hangs, short", hang, Short, 2 * maxRequest, "hangs like this"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>"+key)
		}, Full, time.Second, "endpoint"},
		{"no key", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Www-Authenticate", `Bearer realm="`+key+`"`)
			w.WriteHeader(401)
			io.WriteString(w, "no "+key)
		}, Cache, time.Second, "api_key"},
		{"trickles", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, ": ping\n\n")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		}, Short, 2 * maxRequest, "logs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := world{opts: sim(), what: c.what, wrap: func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						c.handle(w, r)
						return
					}
					h.ServeHTTP(w, r)
				})
			}}.probed(t)
			var f *FailedError
			if !errors.As(got.err, &f) || !strings.Contains(f.Do, c.do) {
				t.Errorf("%v", got.err)
			}
			if got.took > c.took+10*time.Second {
				t.Errorf("took %v, bound %v", got.took, c.took)
			}
			for _, s := range got.steps {
				for _, text := range append(slices.Clone(s.Headers), s.Seen, s.Do, s.URL) {
					if strings.Contains(text, key) {
						t.Errorf("the key stands in %q", text)
					}
				}
			}
			if k := got.caps; k.Usage != "" || k.CachedTokens != "" || k.RoleFirst.OK || len(k.Honoured) != 0 || k.UsageWhole.OK {
				t.Errorf("nothing came, and yet %+v", k)
			}
		})
	}
}

// What a server writes is kept bounded, on one line, and without the key.
func TestTidy(t *testing.T) {
	o := sim()
	o.Scripts = []simserver.Script{{Path: "a.case", Text: `answer
  @5 {"model":"m\n\u001b[2J ` + strings.ReplaceAll(key, `"`, `\"`) + `","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"st\nop"}],"usage":{"completion_tokens":1}} END
`}}
	got := world{opts: o, what: Short}.probed(t)
	k := got.caps
	if strings.Contains(k.Model, key) || strings.ContainsAny(k.Model+k.Finish[0], "\n\x1b") || !strings.Contains(k.Model, "***") {
		t.Errorf("%q %q", k.Model, k.Finish)
	}
}

// An interrupt ends a probe at once; what had come is kept.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stopped")
	n := 0
	got := world{opts: sim(), what: Full, ctx: ctx, wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if n++; n == 3 {
					cancel(stop)
					<-r.Context().Done()
					return
				}
			}
			h.ServeHTTP(w, r)
		})
	}}.probed(t)
	if !errors.Is(got.err, stop) || got.caps.Usage != tape.UsageEnd || len(got.requests) != 3 || got.requests[2].Outcome != tape.OutcomeCancelled {
		t.Errorf("%v %+v", got.err, got.caps)
	}
}
