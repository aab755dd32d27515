package simserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
)

// inBubble runs f in virtual time with a server and a client that share a clock.
func inBubble(t *testing.T, o Options, f func(t *testing.T, s *Server, n *network, clk *clock.Clock)) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		s := NewWithClock(o, clk)
		n := serve(s)
		f(t, s, n, clk)
		n.close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// isContent reports a chat chunk that carries output.
func isContent(p string) bool {
	return strings.Contains(p, `"content":"`) && !strings.Contains(p, `"content":""`)
}

// TestTruthIsWhatTheClientSaw: 200 streams over net/http in memory; each token's
// stamp of the client equals the truth's to the nanosecond.
func TestTruthIsWhatTheClientSaw(t *testing.T) {
	o := Defaults()
	var lines strings.Builder
	o.Trace = &lines
	inBubble(t, o, func(t *testing.T, s *Server, n *network, clk *clock.Clock) {
		const streams = 200
		got := make([]seen, streams)
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				_ = clk.SleepUntil(t.Context(), int64(i)*3_333_337)
				got[i] = n.post(t.Context(), clk, "/v1/chat/completions", fmt.Sprintf(
					`{"messages":[{"role":"user","content":"request number %d of many"}],"stream":true,"max_tokens":40,"stream_options":{"include_usage":true}}`, i),
					"X-Request-Id", fmt.Sprint(i))
			})
		}
		wg.Wait()
		truths := s.Trace()
		if len(truths) != streams {
			t.Fatalf("%d truths", len(truths))
		}
		tokens := 0
		for _, tr := range truths {
			var i int
			fmt.Sscan(tr.ID, &i)
			g := got[i]
			k := 0
			for j, p := range g.data {
				if !isContent(p) {
					continue
				}
				if at := clk.Machine(g.times[j]); at != tr.WriteStart[k] || at != tr.WriteEnd[k] || at != tr.Due[k] {
					t.Fatalf("request %d token %d: seen %d, truth %d..%d, due %d", i, k, at, tr.WriteStart[k], tr.WriteEnd[k], tr.Due[k])
				}
				k++
			}
			if int64(k) != tr.OutputTokens || clk.Machine(g.end) != tr.End || g.status != 200 || g.err != nil {
				t.Fatalf("request %d: %d tokens, truth %+v, %v", i, k, tr, g.err)
			}
			if tr.PrefillDone != tr.Due[0] || tr.Admitted < tr.Arrived || tr.Arrived < tr.Received {
				t.Fatalf("order of %+v", tr)
			}
			tokens += k
		}
		if tokens < streams*10 {
			t.Errorf("only %d tokens", tokens)
		}
		st := s.Stats()
		if st.Requests != streams || st.GenerationTokens != int64(tokens) {
			t.Errorf("engine: %+v", st)
		}
	})
	d := json.NewDecoder(strings.NewReader(lines.String()))
	n := 0
	for ; ; n++ {
		var tr Truth
		if err := d.Decode(&tr); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(tr.Tokens) != len(tr.WriteStart) || len(tr.Tokens) != len(tr.Due) || len(tr.Tokens) != len(tr.WriteEnd) {
			t.Errorf("line %d: %+v", n, tr)
		}
	}
	if n != 200 {
		t.Errorf("%d trace lines", n)
	}
}

func TestHeaderAndRoleTimes(t *testing.T) {
	// 11 prompt tokens of 50 µs and 5 ms: first token at 5.55 ms.
	const first = 5_550_000
	for _, c := range []struct {
		name         string
		change       func(*Options)
		header, role int64
	}{
		{"sglang", func(*Options) {}, first, first},
		{"early header", func(o *Options) { o.EarlyHeader = true }, 0, first},
		{"early role", func(o *Options) { o.RoleChunk = RoleEarly }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Defaults()
			c.change(&o)
			inBubble(t, o, func(t *testing.T, s *Server, n *network, clk *clock.Clock) {
				start := clk.Now()
				g := n.post(t.Context(), clk, "/v1/chat/completions", `{`+hello+`,"stream":true,"max_tokens":1}`)
				if g.header-start != c.header || g.times[0]-start != c.role || g.times[1]-start != first {
					t.Errorf("headers %d, events %v from %d", g.header, g.times, start)
				}
			})
		})
	}
}

func TestFaults(t *testing.T) {
	stream := `{` + hello + `,"stream":true,"max_tokens":5,"ignore_eos":true,"stream_options":{"include_usage":true}}`
	whole := `{` + hello + `,"max_tokens":5,"ignore_eos":true}`
	const first, step = 5_550_000, 10_050_000
	content := func(g seen) (n int) {
		for _, p := range g.data {
			if isContent(p) {
				n++
			}
		}
		return n
	}
	last := func(g seen) string { return g.data[len(g.data)-1] }
	for _, c := range []struct {
		fault, body string
		check       func(g seen, start int64) bool
	}{
		{"status", stream, func(g seen, start int64) bool {
			return g.status == 503 && strings.Contains(last(g), `"object":"error"`)
		}},
		{"status,code=429,body=slow down, please", stream, func(g seen, start int64) bool { return g.status == 429 && last(g) == "slow down, please" }},
		{"delay,for=3s", stream, func(g seen, start int64) bool {
			return g.times[0]-start == int64(3*time.Second)+first && content(g) == 5
		}},
		{"error-event", stream, func(g seen, start int64) bool {
			return g.status == 200 && content(g) == 0 && strings.HasPrefix(g.data[0], `{"error":{"object":"error"`) && last(g) == "[DONE]"
		}},
		{"error-event,after=2,code=400", stream, func(g seen, start int64) bool {
			return content(g) == 2 && strings.Contains(g.data[3], `"code":400`) && g.times[3]-start == first+2*step && g.err == nil
		}},
		{"error-event", whole, func(g seen, start int64) bool { return g.status == 500 && strings.Contains(last(g), "engine failed") }},
		{"cut,after=3", stream, func(g seen, start int64) bool { return content(g) == 3 && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"cut,after=5", stream, func(g seen, start int64) bool { return content(g) == 5 && isContent(last(g)) && g.err != nil }},
		{"cut,after=6", stream, func(g seen, start int64) bool { return content(g) == 5 && last(g) == "[DONE]" && g.err == nil }},
		{"cut", whole, func(g seen, start int64) bool { return g.status == 200 && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"reset,after=3", stream, func(g seen, start int64) bool {
			return content(g) <= 3 && g.err != nil && strings.Contains(g.err.Error(), "reset")
		}},
		{"stall,after=2,for=1s", stream, func(g seen, start int64) bool {
			return content(g) == 5 && g.times[3]-g.times[2] == step+int64(time.Second) && g.times[5] == g.times[3] && last(g) == "[DONE]"
		}},
		{"stall,for=1s", whole, func(g seen, start int64) bool { return g.header-start == first+4*step+int64(time.Second) }},
		{"no-usage", stream, func(g seen, start int64) bool {
			return content(g) == 5 && last(g) == "[DONE]" && !strings.Contains(strings.Join(g.data, ""), "prompt_tokens")
		}},
		{"no-usage", whole, func(g seen, start int64) bool { return g.status == 200 && !strings.Contains(last(g), "usage") }},
		{"no-done", stream, func(g seen, start int64) bool {
			return content(g) == 5 && strings.Contains(last(g), `"usage":{`) && g.err == nil
		}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			f, err := ParseFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			o := Defaults()
			o.FaultAt = map[int]Fault{1: f}
			inBubble(t, o, func(t *testing.T, s *Server, n *network, clk *clock.Clock) {
				if g := n.post(t.Context(), clk, "/v1/chat/completions", `{"messages":[{"role":"user","content":"other"}],"stream":true}`); last(g) != "[DONE]" {
					t.Errorf("request 0 is not whole: %+v", g)
				}
				start := clk.Now()
				g := n.post(t.Context(), clk, "/v1/chat/completions", c.body)
				if !c.check(g, start) {
					t.Errorf("by number: %+v from %d", g, start)
				}
				if tr := s.Trace()[1]; tr.Fault != string(f.Kind) && c.fault != "cut,after=6" || tr.Aborted {
					t.Errorf("truth: %+v", tr)
				}
				_ = clk.SleepUntil(t.Context(), clk.Now()+ms*1000) // the step that was under way ends
				start = clk.Now()
				if g := n.post(t.Context(), clk, "/v1/chat/completions", c.body, FaultHeader, c.fault); !c.check(g, start) {
					t.Errorf("by header: %+v from %d", g, start)
				}
				// Nothing of it stays in the engine.
				_ = clk.SleepUntil(t.Context(), clk.Now()+int64(time.Minute))
				if st := s.Stats(); st.Running+st.Queue != 0 {
					t.Errorf("engine: %+v", st)
				}
			})
		})
	}
}

func TestFaultShares(t *testing.T) {
	o := quick(func(o *Options) {
		o.Faults = []Fault{{Kind: FaultStatus, Share: 0.2}, {Kind: FaultNoDone, Share: 0.1}}
		o.Keep = 5000
	})
	run := func(o Options) map[string]int {
		s := newServer(t, o)
		for range 5000 {
			do(s, "POST", "/v1/chat/completions", `{`+hello+`,"stream":true,"max_tokens":1}`)
		}
		n := map[string]int{}
		for _, tr := range s.Trace() {
			n[tr.Fault]++
		}
		return n
	}
	n := run(o)
	// Standard errors: 28 and 21.
	if n["status"] < 880 || n["status"] > 1120 || n["no-done"] < 410 || n["no-done"] > 590 {
		t.Errorf("shares of 5000: %v", n)
	}
	if again := run(o); fmt.Sprint(again) != fmt.Sprint(n) {
		t.Errorf("another run with the same seed: %v, then %v", n, again)
	}
}

func TestParseFault(t *testing.T) {
	f, err := ParseFault("status,share=0.25,code=502,body=a,b=c")
	if err != nil || f != (Fault{Kind: FaultStatus, Share: 0.25, Code: 502, Body: "a,b=c"}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range []string{"", "burn", "cut,after=-1", "cut,after=x", "stall", "status,code=99", "cut,share=2", "cut,share=NaN", "cut,colour=red"} {
		if _, err := ParseFault(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
	w := do(newServer(t, quick()), "POST", "/v1/chat/completions", `{}`, FaultHeader, "burn")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "burn") {
		t.Errorf("bad header: %d %s", w.Code, w.Body)
	}
}

func TestDisconnectFreesTheSlot(t *testing.T) {
	o := Defaults()
	o.Slots = 1
	inBubble(t, o, func(t *testing.T, s *Server, n *network, clk *clock.Clock) {
		ctx, cancel := context.WithCancel(t.Context())
		var g seen
		var wg sync.WaitGroup
		wg.Go(func() {
			g = n.post(ctx, clk, "/v1/chat/completions", `{`+hello+`,"stream":true,"max_tokens":30000,"ignore_eos":true}`)
		})
		_ = clk.SleepUntil(t.Context(), 100*ms)
		cancel()
		wg.Wait()
		start := clk.Now()
		next := n.post(t.Context(), clk, "/v1/completions", `{"prompt":"x","stream":true,"max_tokens":1}`)
		if g.err == nil || next.times[0]-start > 10_050_000+5_050_000 {
			t.Errorf("left with %v; the next had to wait until %d from %d", g.err, next.times[0], start)
		}
		tr := s.Trace()[0]
		if !tr.Aborted || tr.OutputTokens < 5 || tr.OutputTokens > 11 || tr.Finish != "" {
			t.Errorf("truth: %+v", tr)
		}
		if st := s.Stats(); st.Aborted != 1 || st.Requests != 1 {
			t.Errorf("engine: %+v", st)
		}
	})
}

// TestSlowReader: a client that does not read holds up neither the engine nor
// another client.
func TestSlowReader(t *testing.T) {
	r, err := Listen("127.0.0.1:0", quick(func(o *Options) { o.Context = 1 << 20 }))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := &network{client: newTCPClient()}
	defer n.client.CloseIdleConnections()
	clk := clock.New()
	body := `{` + hello + `,"stream":true,"max_tokens":100000,"ignore_eos":true}` // 25 MB: more than socket buffers hold
	resp, err := n.client.Post(r.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if g := n.postURL(t.Context(), clk, r.URL+"/v1/chat/completions", `{`+hello+`,"stream":true}`); g.err != nil || g.data[len(g.data)-1] != "[DONE]" {
			t.Fatalf("%+v", g)
		}
	}
	if st := r.Stats(); st.Requests < 21 {
		t.Errorf("the engine waits for the slow reader: %+v", st)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || strings.Count(string(b), "data: ") != 1+100000+1+1 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestCloseWhileStreaming(t *testing.T) {
	r, err := Listen("127.0.0.1:0", Defaults())
	if err != nil {
		t.Fatal(err)
	}
	n := &network{client: newTCPClient()}
	defer n.client.CloseIdleConnections()
	var g seen
	var wg sync.WaitGroup
	wg.Go(func() {
		g = n.postURL(t.Context(), clock.New(), r.URL+"/v1/chat/completions", `{`+hello+`,"stream":true,"max_tokens":30000,"ignore_eos":true}`)
	})
	for r.Stats().Running == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if g.err == nil {
		t.Error("the stream ended well")
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if w := do(r.Server, "GET", "/health", ""); w.Code != 503 {
		t.Errorf("after Close: %d", w.Code)
	}
}

func TestListenErrors(t *testing.T) {
	if _, err := Listen("127.0.0.1:0", Options{}); err == nil {
		t.Error("zero options accepted")
	}
	if _, err := Listen("256.0.0.1:0", Defaults()); err == nil {
		t.Error("address accepted")
	}
}
