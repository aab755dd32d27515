package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/report"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// said is what a server writes at a time after the request.
type said struct {
	at   time.Duration
	text string
}

func event(format string, args ...any) string {
	return "data: " + fmt.Sprintf(format, args...) + "\n\n"
}

const (
	role = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	done = "data: [DONE]\n\n"
)

func content(text string) string {
	return event(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

func finish(reason string) string {
	return event(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func usage(input, output int) string {
	return event(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, input, output, input+output)
}

// plays answers every request with the same stream.
func plays(stream ...said) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		start := time.Now()
		for _, s := range stream {
			time.Sleep(s.at - time.Since(start))
			io.WriteString(w, s.text)
			w.(http.Flusher).Flush()
		}
	})
}

// tokensEvery is a stream of n tokens of one text, the first after one gap.
func tokensEvery(n int, gap time.Duration, text string) (out []said) {
	for i := range n {
		out = append(out, said{time.Duration(i+1) * gap, content(text)})
	}
	return out
}

// analysed sends the load and analyses the tape, as the command line does.
func (r rig) analysed() (*analysis.Results, []*tape.Request) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "analysed.jsonl.zst")
	change := r.change
	r.change = func(c *run.Config) {
		if change != nil {
			change(c)
		}
		var err error
		if c.Tape, err = tape.Create(path, true); err != nil {
			r.t.Fatal(err)
		}
		c.Header.Host.CPUs = 2
		if string(c.Header.Spec) == "{}" {
			c.Header.Spec = []byte(`{"workload":{"stream":true}}`)
		}
	}
	r.run()
	requests, _ := readTape(r.t, path)
	res, err := analysis.AnalyseFile(path, analysis.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return res, requests
}

func verdict(t *testing.T, res *analysis.Results, name string) analysis.Check {
	t.Helper()
	i := slices.IndexFunc(res.Verdict.Checks, func(c analysis.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s", name)
	}
	return res.Verdict.Checks[i]
}

// console is the report as people see it.
func console(t *testing.T, res *analysis.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Console(&b, res, report.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func whole(t *testing.T, res *analysis.Results, metric string) *analysis.Summary {
	t.Helper()
	for _, w := range res.Windows {
		if w.Kind == "whole" && w.Metrics[metric] != nil {
			return w.Metrics[metric]
		}
	}
	t.Fatalf("no %s in the whole window", metric)
	return nil
}

// A27: a proxy that buffers: 50 tokens made at 20 ms each come in one go after
// 1 s, alone or behind a role chunk that came at once. The numbers are those
// measured (TTFT = E2E = 1 s, 49 gaps of 0 a response), a note says that output
// came in bursts, and nothing calls the client the cause. Evenly sent tokens have
// no such note.
func TestA27Bursts(t *testing.T) {
	var tokens string
	for range 50 {
		tokens += content("x")
	}
	rest := tokens + finish("length") + done
	for name, c := range map[string]struct {
		stream []said
		result string
		ttft   float64
		gap    float64
	}{
		"all at the end":    {[]said{{time.Second, rest}}, analysis.ResultMiss, 1000, 0},
		"role chunk before": {[]said{{0, event(role)}, {time.Second, rest}}, analysis.ResultMiss, 1000, 0},
		"evenly":            {append(tokensEvery(50, 20*time.Millisecond, "x"), said{time.Second, finish("length") + done}), analysis.ResultPass, 20, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res, _ := rig{t: t, clk: clock.New(), handler: plays(c.stream...), load: spec.Load{Requests: 12, Concurrency: 3}}.analysed()
				ttft, e2e, itl := whole(t, res, "ttft_ms"), whole(t, res, "e2e_ms"), whole(t, res, "itl_ms")
				if *ttft.Min != c.ttft || *ttft.Max != c.ttft || *e2e.Min != 1000 || *e2e.Max != 1000 {
					t.Errorf("TTFT %v to %v, E2E %v to %v", *ttft.Min, *ttft.Max, *e2e.Min, *e2e.Max)
				}
				if itl.N != 12*49 || *itl.Min != c.gap || *itl.Max != c.gap {
					t.Errorf("%d gaps from %v to %v", itl.N, *itl.Min, *itl.Max)
				}
				b := verdict(t, res, "bursts")
				if b.Result != c.result || b.Severity != analysis.SeverityNote {
					t.Errorf("bursts: %+v", b)
				}
				if said := strings.Contains(console(t, res), "output arrived in bursts"); said != (c.result == analysis.ResultMiss) {
					t.Errorf("the report says so: %v", said)
				}
				if k := verdict(t, res, "client_bound"); k.Result != analysis.ResultPass || strings.Contains(res.Verdict.Line, "client-bound") {
					t.Errorf("client_bound: %+v\n%s", k, res.Verdict.Line)
				}
			})
		})
	}
}

// fixed is a tokenizer by which every text has so many tokens.
type counts int64

func (n counts) CountTokens(string) (int64, error) { return int64(n), nil }

// B07: 15 chunks of one blank, 10 ms apart, which the server counts as 15 tokens
// and the tokenizer as one. Output is 15, TPOT 10 ms; the tokenizer's count is a
// second figure, and a note has both. Counts that agree, but for a token or two
// that are no text, have no note, and without the server's count the tokenizer's
// is the output.
func TestB07SecondFigure(t *testing.T) {
	end := 150 * time.Millisecond
	for name, c := range map[string]struct {
		tail    string
		counter run.TokenCounter
		output  int64
		source  string
		recount tape.Opt[int64]
		result  string
	}{
		"merged":       {usage(5, 15), counts(1), 15, tape.SourceUsage, tape.Some[int64](1), analysis.ResultMiss},
		"alike":        {usage(5, 15), counts(14), 15, tape.SourceUsage, tape.Some[int64](14), analysis.ResultPass},
		"no usage":     {"", counts(1), 1, tape.SourceTokenizer, tape.Opt[int64]{}, analysis.ResultNone},
		"no tokenizer": {usage(5, 15), nil, 15, tape.SourceUsage, tape.Opt[int64]{}, analysis.ResultNone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := append(tokensEvery(15, 10*time.Millisecond, " "), said{end, finish("stop") + c.tail + done})
				res, requests := rig{t: t, clk: clock.New(), handler: plays(stream...), text: c.counter != nil, load: spec.Load{Requests: 6, Concurrency: 2},
					change: func(cfg *run.Config) { cfg.Counter = c.counter }}.analysed()
				for _, q := range requests {
					if k := q.Tokens; k.Output != tape.Some(c.output) || k.OutputSource != c.source || k.Recount != c.recount {
						t.Fatalf("request %d: %+v", q.Seq, k)
					}
				}
				if m := whole(t, res, "output_tokens"); *m.Mean != float64(c.output) {
					t.Errorf("output %v", *m.Mean)
				}
				if c.output == 15 {
					if m := whole(t, res, "tpot_ms"); m.N != 6 || *m.Min != 10 || *m.Max != 10 {
						t.Errorf("TPOT of %d: %v to %v", m.N, *m.Min, *m.Max)
					}
				}
				k := verdict(t, res, "output_off_text")
				if k.Result != c.result || k.Severity != analysis.SeverityNote {
					t.Errorf("%+v", k)
				}
				if c.result == analysis.ResultMiss {
					if text := console(t, res); *k.Value != 15 || !strings.Contains(text, "server counted 90 output tokens, the tokenizer 6") {
						t.Errorf("ratio %v; the report:\n%s", *k.Value, text)
					}
				}
				if k := verdict(t, res, "token_sources"); k.Result != analysis.ResultPass {
					t.Errorf("a second figure is no second source: %+v", k)
				}
			})
		})
	}
}

// Second figures are left out while too many wait for theirs; a count that nobody
// else has never is.
func TestSecondFigureGivesWay(t *testing.T) {
	for name, tail := range map[string]string{"counted by the server": usage(1, 1), "not counted": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 400
				_, requests, _ := rig{t: t, clk: clock.New(), handler: plays(said{time.Second, content("x") + finish("stop") + tail + done}), text: true,
					load: spec.Load{Requests: n, Concurrency: n}, change: func(cfg *run.Config) { cfg.Counter = burns(20 * time.Millisecond) }}.run()
				second, only := 0, 0
				for _, q := range requests {
					if q.Tokens.Recount.OK {
						second++
					}
					if q.Tokens.OutputSource == tape.SourceTokenizer {
						only++
					}
				}
				if tail == "" && (only != n || second != 0) || tail != "" && (only != 0 || second == 0 || second > 300) {
					t.Errorf("of %d: %d second figures, %d counts", n, second, only)
				}
			})
		})
	}
}

// B08: 512 tokens are asked for with ignore_eos and the server stops at 37. Every
// number is of the 37, the report has the ratio of what came to what was asked as a
// note, and report.strict makes it a failure.
func TestB08StopsShort(t *testing.T) {
	for _, strict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			stream := append(tokensEvery(37, 10*time.Millisecond, "x"), said{370 * time.Millisecond, finish("stop") + usage(5, 37) + done})
			res, requests := rig{t: t, clk: clock.New(), handler: plays(stream...), output: 512, load: spec.Load{Requests: 4, Concurrency: 2}, change: func(c *run.Config) {
				if strict {
					c.Header.Spec = []byte(`{"workload":{"stream":true},"report":{"strict":["output_short"]}}`)
				}
			}}.analysed()
			for _, q := range requests {
				if q.Asked.Output != tape.Some[int64](512) || q.Tokens.Output != tape.Some[int64](37) || q.Finish != "stop" || q.Outcome != tape.OutcomeOK {
					t.Errorf("%+v %+v %s %s", q.Asked, q.Tokens, q.Finish, q.Outcome)
				}
			}
			for name, want := range map[string]float64{"output_tokens": 37, "tpot_ms": 10, "e2e_ms": 370, "decode_tokens_per_s": 100} {
				if m := whole(t, res, name); m.N != 4 || *m.Min != want || *m.Max != want {
					t.Errorf("%s: %d from %v to %v, want %v", name, m.N, *m.Min, *m.Max, want)
				}
			}
			k := verdict(t, res, "output_short")
			if k.Result != analysis.ResultMiss || *k.Value != 37.0/512 || res.Verdict.Fit == strict {
				t.Errorf("fit %v: %+v", res.Verdict.Fit, k)
			}
			if text := console(t, res); !strings.Contains(text, "7.23 % of the asked output tokens came; 4 of 4 responses are shorter than asked") {
				t.Errorf("no ratio in\n%s", text)
			}
		})
	}
}

// burns takes so long to count any text.
type burns time.Duration

func (d burns) CountTokens(string) (int64, error) {
	time.Sleep(time.Duration(d))
	return 1, nil
}

// B12: a tokenizer that takes 20 ms a response delays no stamp and no send: the
// tape of a run with it is that of a run without, but for the counts.
func TestB12SlowTokenizer(t *testing.T) {
	send := func(counter run.TokenCounter) (out []string) {
		synctest.Test(t, func(t *testing.T) {
			stream := append(tokensEvery(20, 5*time.Millisecond, "x"), said{100 * time.Millisecond, finish("stop") + done})
			_, requests, _ := rig{t: t, clk: clock.New(), handler: plays(stream...), text: true, load: spec.Load{Requests: 200, Concurrency: 50},
				change: func(c *run.Config) { c.Counter = counter }}.run()
			slices.SortFunc(requests, func(a, b *tape.Request) int { return int(a.Seq - b.Seq) })
			for _, q := range requests {
				if q.Outcome != tape.OutcomeOK || len(q.Events.DT) < 21 || (counter != nil) != (q.Tokens.OutputSource == tape.SourceTokenizer) {
					t.Fatalf("request %d: %s, %d events, %+v", q.Seq, q.Outcome, len(q.Events.DT), q.Tokens)
				}
				q.Tokens = tape.Tokens{}
				q.Worker, q.Conn = 0, nil // slots that are free at one instant may be taken in any order
				b, err := json.Marshal(q)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(b))
			}
		})
		return out
	}
	with, without := send(burns(20*time.Millisecond)), send(nil)
	if len(with) != 200 || !slices.Equal(with, without) {
		for i := range min(len(with), len(without)) {
			if with[i] != without[i] {
				t.Fatalf("%d and %d requests; request %d:\n%s\n%s", len(with), len(without), i, with[i], without[i])
			}
		}
	}
}

// C07: the tokenizer counts 1,000 tokens of a prompt, the server 1,180. The
// server's count is the one that is used, and a note has both and their ratio,
// 1.18. Without a tokenizer the run has the server's count and no such note.
func TestC07AnotherTokenizer(t *testing.T) {
	for name, inputs := range map[string]run.InputCounter{
		"another":      func(workload.Item) (int64, bool) { return 1000, true },
		"the server's": func(workload.Item) (int64, bool) { return 1180, true },
		"none":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := []said{{100 * time.Millisecond, content("x")}, {120 * time.Millisecond, content("y") + finish("stop") + usage(1180, 2) + done}}
				res, requests := rig{t: t, clk: clock.New(), handler: plays(stream...), load: spec.Load{Requests: 5, Concurrency: 1},
					change: func(c *run.Config) { c.Inputs = inputs }}.analysed()
				if len(requests) != 5 {
					t.Fatalf("%d requests", len(requests))
				}
				for _, q := range requests {
					if q.Tokens.Input != tape.Some[int64](1180) || q.Tokens.InputSource != tape.SourceUsage || q.Asked.Input.OK != (inputs != nil) {
						t.Errorf("%+v %+v", q.Tokens, q.Asked)
					}
				}
				if m := whole(t, res, "prefill_tokens_per_s"); *m.Min != 11800 || *m.Max != 11800 {
					t.Errorf("prefill %v to %v", *m.Min, *m.Max)
				}
				k := verdict(t, res, "input_off_plan")
				text := console(t, res)
				switch name {
				case "another":
					if k.Result != analysis.ResultMiss || *k.Value != 1.18 || !strings.Contains(text, "server counted 5,900 of 5,000 input tokens") || !strings.Contains(k.Why, "up to +180 (ratio 1.18)") {
						t.Errorf("%+v\n%s", k, text)
					}
				case "none":
					if k.Result != analysis.ResultNone || !strings.Contains(res.Verdict.Line, "fit for use") || !res.Verdict.Fit {
						t.Errorf("%+v %s", k, res.Verdict.Line)
					}
				default:
					if k.Result != analysis.ResultPass {
						t.Errorf("%+v", k)
					}
				}
			})
		})
	}
}
