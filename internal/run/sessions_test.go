package run_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/clock"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// talks is a source of conversations with that many turns each.
type talks []int32

func (s talks) Len() int64 { return int64(len(s)) }

func (s talks) data() plan.Data { return plan.Data{Rows: s.Len(), Turns: s} }

func (s talks) Item(i int64) (workload.Item, error) {
	item := workload.Item{Ref: workload.Ref{Row: i}}
	for k := range s[i] {
		if k > 0 {
			item.Messages = append(item.Messages, workload.Message{Role: "assistant", Content: fmt.Sprintf("recorded %d.%d", i, k-1)})
		}
		item.Messages = append(item.Messages, workload.Message{Role: "user", Content: fmt.Sprintf("question %d.%d", i, k)})
	}
	return item, nil
}

// sayer answers each request with a text of its own after d, and keeps what it
// was asked. fail fails the n-th.
type sayer struct {
	d    time.Duration
	fail map[int]bool

	mu    sync.Mutex
	asked []string // by order of arrival: session, then the messages
}

func (s *sayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var body struct {
		Messages []struct{ Role, Content string }
	}
	json.Unmarshal(b, &body)
	said := []string{r.Header.Get("X-Session")}
	for _, m := range body.Messages {
		said = append(said, m.Content)
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, strings.Join(said, "|"))
	s.mu.Unlock()
	time.Sleep(s.d)
	if s.fail[n] {
		http.Error(w, "no", 500)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`+"\n\n"+`data: {"choices":[{"index":0,"delta":{"content":"reply to %s"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", body.Messages[len(body.Messages)-1].Content)
}

// One session of four turns: each goes out exactly a pause after the end of the
// answer before, with the server's own replies, or the recorded ones.
func TestSessionOfFourTurns(t *testing.T) {
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := &sayer{d: 100 * time.Millisecond}
			sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, source: talks{4}, data: talks{4}.data(), reply: own,
				load: spec.Load{Sessions: 1, SessionConcurrency: 1, Think: spec.Think{Mean: spec.Duration(2 * time.Second)}}}.run()
			if f := sum.Footer; f.OK != 4 || f.Planned != 4 || f.NotIssued != 0 || len(requests) != 4 {
				t.Fatalf("%+v", f)
			}
			for k, q := range requests {
				at := int64(k) * 2_100_000_000
				if q.Turn != k || q.Session != tape.Some("test-s1") || q.TDue.OK != (k > 0) || q.TDue.OK && q.TDue.V != at || q.TReady.V != at || q.TReleased.V != at || q.TWroteFirst.V != at || q.TEnd.V != at+100_000_000 {
					t.Errorf("turn %d: %+v", k, q)
				}
			}
			want := "test-s1|question 0.0|reply to question 0.0|question 0.1|reply to question 0.1|question 0.2|reply to question 0.2|question 0.3"
			if !own {
				want = "test-s1|question 0.0|recorded 0.0|question 0.1|recorded 0.1|question 0.2|recorded 0.2|question 0.3"
			}
			if h.asked[3] != want {
				t.Errorf("own %v: asked %q", own, h.asked[3])
			}
		})
	}
}

// Sessions arrive when planned, whatever the turns of the others do; the cap on
// requests and the cap on sessions are two things.
func TestSessionsArriveByPlan(t *testing.T) {
	for _, tt := range []struct {
		name             string
		requests, places int64
		// released: of turn 0 and 1 of each of three sessions, in ms
		want [3][2]int64
	}{
		{"no cap", 0, 0, [3][2]int64{{0, 1500}, {500, 2000}, {1000, 2500}}},
		{"one request at a time", 1, 0, [3][2]int64{{0, 3000}, {1000, 4000}, {2000, 5000}}},
		{"one session at a time", 0, 1, [3][2]int64{{0, 1500}, {2500, 4000}, {5000, 6500}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := talks{2, 2, 2}
			_, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(),
				load: spec.Load{Sessions: 3, Rate: 2, Concurrency: tt.requests, SessionConcurrency: tt.places, Think: spec.Think{Mean: spec.Duration(500 * time.Millisecond)}}}.run()
			var got [3][2]int64
			for _, q := range requests {
				got[q.Ref.Row][q.Turn] = q.TReleased.V / 1e6
				if q.PacerLag() != tape.Some(int64(0)) {
					t.Errorf("%s: row %d turn %d: the wait counts as ours: %v", tt.name, q.Ref.Row, q.Turn, q.PacerLag())
				}
				due := q.Ref.Row * 500_000_000
				if q.Turn > 0 { // half a second after the second that the answer before took
					due = (tt.want[q.Ref.Row][q.Turn-1] + 1500) * 1e6
				}
				if wait := tt.want[q.Ref.Row][q.Turn]*1e6 - due; q.TDue != tape.Some(due) || q.SlotWait() != tape.Some(wait) {
					t.Errorf("%s: row %d turn %d is due at %v and waits %v, want %d and %d", tt.name, q.Ref.Row, q.Turn, q.TDue, q.SlotWait(), due, wait)
				}
			}
			if got != tt.want {
				t.Errorf("%s: released at %v ms, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// A failed turn ends its session; what would follow counts as not issued.
func TestFailedTurnEndsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{4, 3, 2}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second, fail: map[int]bool{1: true}}, source: s, data: s.data(), reply: true,
			load: spec.Load{Sessions: 3, SessionConcurrency: 1}}.run()
		f := sum.Footer
		if f.Planned != 9 || f.OK != 6 || f.Failed["http_status"] != 1 || f.NotIssued != 2 || f.Reason != tape.ReasonCompleted || len(requests) != 7 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// When the first turn of every warm-up session fails, the run stops.
func TestWarmupSessionsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{4, 3, 2}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second, fail: map[int]bool{0: true, 1: true}}, source: s, data: s.data(), reply: true,
			load: spec.Load{Sessions: 1, Warmup: 2, SessionConcurrency: 1}}.run()
		if f := sum.Footer; f.Reason != tape.ReasonWarmup || f.NotIssued != f.Planned || len(requests) != 2 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// An end of issuing ends sessions between their turns.
func TestDurationEndsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{9, 9}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(),
			load: spec.Load{Sessions: 2, SessionConcurrency: 2, Duration: spec.Duration(5500 * time.Millisecond), Think: spec.Think{Mean: spec.Duration(time.Second)}}}.run()
		f := sum.Footer
		if f.Planned != 18 || f.OK != 6 || f.NotIssued != 12 || f.Reason != tape.ReasonDuration || len(requests) != 6 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// Whatever the sessions and the failures: turns of a session never overlap, both
// caps hold, and the books close.
func TestSessionProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := talks(rapid.SliceOfN(rapid.Int32Range(1, 5), 1, 8).Draw(rt, "turns"))
		l := spec.Load{
			Sessions: s.Len(), Concurrency: rapid.Int64Range(1, 4).Draw(rt, "c"), SessionConcurrency: rapid.Int64Range(1, 4).Draw(rt, "s"),
			Think: spec.Think{Kind: "exponential", Mean: spec.Duration(rapid.Int64Range(0, 2e9).Draw(rt, "think"))},
		}
		if rapid.Bool().Draw(rt, "open") {
			l.Rate = 2
		}
		fail := map[int]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 20), 0, 4).Draw(rt, "fail") {
			fail[n] = true
		}
		synctest.Test(t, func(t *testing.T) {
			sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: 300 * time.Millisecond, fail: fail}, source: s, data: s.data(), load: l,
				reply: rapid.Bool().Draw(rt, "reply")}.run()
			f := sum.Footer
			total := f.OK + f.Failed["http_status"] + f.NotIssued
			if want := int64(0); true {
				for _, n := range s {
					want += int64(n)
				}
				if f.Planned != want || total != want || f.Reason != tape.ReasonCompleted {
					rt.Fatalf("%+v, %d turns", f, want)
				}
			}
			most := func(from, to func(*tape.Request) int64) int64 {
				var peak int64
				for _, q := range requests {
					var n int64
					for _, o := range requests {
						if from(o) <= from(q) && to(o) > from(q) {
							n++
						}
					}
					peak = max(peak, n)
				}
				return peak
			}
			if n := most(func(q *tape.Request) int64 { return q.TReleased.V }, func(q *tape.Request) int64 { return q.TEnd.V }); n > l.Concurrency {
				rt.Fatalf("%d requests in flight, the cap is %d", n, l.Concurrency)
			}
			begun, ended, end := map[string]int64{}, map[string]int64{}, map[string]int64{}
			turn := map[string]int{}
			for _, q := range requests {
				id := q.Session.V
				if q.Turn != turn[id] || q.TReleased.V < end[id] || q.TReleased.V < q.TReady.V {
					rt.Fatalf("%s turn %d after turn %d: released %d, the one before ended %d", id, q.Turn, turn[id], q.TReleased.V, end[id])
				}
				if turn[id]++; q.Turn == 0 {
					begun[id] = q.TReleased.V
				}
				end[id], ended[id] = q.TEnd.V, q.TEnd.V
			}
			for _, at := range begun {
				var n int64
				for id := range begun {
					if begun[id] <= at && ended[id] > at {
						n++
					}
				}
				if n > l.SessionConcurrency {
					rt.Fatalf("%d sessions open, the cap is %d", n, l.SessionConcurrency)
				}
			}
		})
	})
}

// Slots of a closed loop open and close by stages, and what runs when they close
// ends as it would.
func TestConcurrencyStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := func(n int) spec.Duration { return spec.Duration(time.Duration(n) * time.Millisecond) }
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(100*time.Millisecond, nil),
			load: spec.Load{Stages: []spec.Stage{{Concurrency: 2, Duration: ms(1050)}, {Concurrency: 5, Duration: ms(1030)}, {Concurrency: 1, Duration: ms(1000)}}}}.run()
		if sum.Footer.Reason != tape.ReasonDuration || sum.Footer.Cancelled != 0 {
			t.Errorf("%+v", sum.Footer)
		}
		inFlight := func(at int64) (n int) {
			for _, q := range requests {
				if q.TReleased.V <= at && at < q.TEnd.V {
					n++
				}
			}
			return n
		}
		for at, want := range map[int]int{0: 2, 500: 2, 1049: 2, 1050: 5, 1500: 5, 2079: 5, 2090: 5, 2120: 3, 2160: 1, 2500: 1, 3040: 1} {
			if got := inFlight(int64(at) * 1e6); got != want {
				t.Errorf("%d in flight at %d ms, want %d", got, at, want)
			}
		}
	})
}

// With load.stagger slot k opens at k times it.
func TestStagger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, nil),
			load: spec.Load{Requests: 8, Concurrency: 4, Stagger: spec.Duration(100 * time.Millisecond)}}.run()
		for _, q := range requests {
			want := (q.Seq%4)*100_000_000 + q.Seq/4*1_000_000_000
			if q.TReady.V != want || q.TReleased.V != want {
				t.Errorf("request %d: ready %d, released %d, want %d", q.Seq, q.TReady.V, q.TReleased.V, want)
			}
		}
	})
}

// The counts of a session's prompts do not hold up its next turn.
func TestSessionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: talks{3}, data: talks{3}.data(), reply: true,
			load: spec.Load{Sessions: 1, SessionConcurrency: 1},
			change: func(c *run.Config) {
				c.Inputs = func(item workload.Item) (int64, bool) {
					time.Sleep(10 * time.Second)
					return int64(len(item.Messages)), true
				}
			}}.run()
		for _, q := range requests {
			if q.TReleased.V != int64(q.Turn)*1_000_000_000 || q.Asked.Input != tape.Some(int64(2*q.Turn+1)) {
				t.Errorf("turn %d: released %d, %v", q.Turn, q.TReleased.V, q.Asked.Input)
			}
		}
	})
}

// With several servers all turns of a session go to one, and each row of the
// preparation to all: what they share lies in one server's cache.
func TestSessionsAndPreparationOverServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{3, 1, 2, 4}
		urls := []string{"http://a/v1/chat/completions", "http://b/v1/chat/completions", "http://c/v1/chat/completions"}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(), urls: urls,
			load: spec.Load{Sessions: 4, SessionConcurrency: 2},
			change: func(c *run.Config) {
				c.Prepare = run.Prepare{Source: s, Rows: 2, Servers: 3, Concurrency: 4, Output: 1}
			}}.run()
		if f := sum.Footer; f.OK != 10 || f.Preparation != 6 {
			t.Fatalf("%+v", f)
		}
		prepared := map[[2]int64]int{}
		for _, q := range requests {
			if q.Phase == tape.PhasePrepare {
				prepared[[2]int64{q.Ref.Row, q.URL.V}]++
				continue
			}
			var k int64
			fmt.Sscanf(q.Session.V, "test-s%d", &k)
			if q.URL != tape.Some((k-1)%3) {
				t.Errorf("turn %d of session %d went to %v", q.Turn, k, q.URL)
			}
		}
		for row := range int64(2) {
			for url := range int64(3) {
				if n := prepared[[2]int64{row, url}]; n != 1 {
					t.Errorf("row %d of the preparation went to server %d %d times", row, url, n)
				}
			}
		}
	})
}

// What the client takes to give a slot back is no wait for a slot: it is the
// client's own lag. A wait for the slot that another session holds is one.
func TestOwnSlotIsNoWait(t *testing.T) {
	for sessions, want := range map[int64][2]int64{1: {0, 1_000_000}, 2: {1_002_000_000, 0}} { // slot wait and lag of the second turn of session 1
		synctest.Test(t, func(t *testing.T) {
			s := talks{2, 1}
			_, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(),
				load: spec.Load{Sessions: sessions, SessionConcurrency: sessions, Concurrency: 1},
				change: func(c *run.Config) {
					c.Ended = func(run.Ended) { time.Sleep(time.Millisecond) } // before the slot is free
				}}.run()
			for _, q := range requests {
				if q.Turn == 0 {
					continue
				}
				if q.TDue != tape.Some(int64(1_000_000_000)) || q.SlotWait() != tape.Some(want[0]) || q.PacerLag() != tape.Some(want[1]) {
					t.Errorf("%d sessions: due %v, slot wait %v, lag %v, want %v", sessions, q.TDue, q.SlotWait(), q.PacerLag(), want)
				}
			}
		})
	}
}

// A closed loop of sessions that time bounds draws sessions until the time is over:
// those that run then end between their turns, and what they lack was not issued.
func TestTimeBoundSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{3, 1, 2}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(), repeat: plan.RepeatCycle,
			load: spec.Load{SessionConcurrency: 1, Warmup: 1, Duration: spec.Duration(9500 * time.Millisecond)}}.run()
		// Warm-up takes row 2 (two turns); then rows 0, 1, 0, 1 … whose first ten
		// seconds hold 2 + 3 + 1 + 3 + 1 requests.
		f := sum.Footer
		if f.Reason != tape.ReasonDuration || f.Message != "" || f.Planned != 8 || f.OK != 8 || f.NotIssued != 0 || f.Warmup != tape.Some(int64(2)) || len(requests) != 10 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
		var rows []int64
		for i, q := range bySeq(requests) {
			rows = append(rows, q.Ref.Row)
			if q.Seq != int64(i) || q.TReleased.V != int64(i)*1_000_000_000 {
				t.Errorf("request %d is row %d of the plan, released at %d", i, q.Seq, q.TReleased.V)
			}
		}
		if got := fmt.Sprint(rows); got != "[2 2 0 0 0 1 0 0 0 1]" {
			t.Errorf("rows %s", got)
		}
	})
}

func TestTimeBoundSessionsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{4}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second, fail: map[int]bool{1: true}}, source: s, data: s.data(), repeat: plan.RepeatCycle,
			load: spec.Load{SessionConcurrency: 2, Duration: spec.Duration(5500 * time.Millisecond)}}.run()
		// One of the first two sessions fails at once and its three further turns are
		// lost. The other and the one that takes its place run from 0 to 4 and 1 to 5 s;
		// then sessions of 4 and 5 s get as far as the time.
		f := sum.Footer
		if f.Reason != tape.ReasonDuration || f.Planned != 20 || f.OK != 11 || f.Failed["http_status"] != 1 || f.NotIssued != 8 || len(requests) != 12 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// The rows can run out before the time, and the run says so.
func TestTimeBoundSessionsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{2, 1}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(),
			load: spec.Load{SessionConcurrency: 2, Duration: spec.Duration(time.Minute)}}.run()
		if f := sum.Footer; f.Reason != tape.ReasonRows || f.Planned != 3 || f.OK != 3 || len(requests) != 3 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// A cap on requests ends the plan in the middle of a session, and the footer names
// the cap that ended the run.
func TestRequestsCapSessions(t *testing.T) {
	for _, tt := range []struct {
		load            spec.Load
		planned, ok     int64
		reason, message string
	}{
		{spec.Load{Requests: 5, Sessions: 3}, 5, 5, tape.ReasonCompleted, "load.requests 5 ended the run; load.sessions 3 never reached"},
		{spec.Load{Requests: 50, Sessions: 2, Duration: spec.Duration(time.Minute)}, 6, 6, tape.ReasonCompleted, "load.sessions 2 ended the run; load.requests 50 and load.duration 60 s never reached"},
		{spec.Load{Requests: 50, Sessions: 2, Duration: spec.Duration(3500 * time.Millisecond)}, 6, 4, tape.ReasonDuration, "load.duration 3.5 s ended the run; load.sessions 2 and load.requests 50 never reached"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := talks{3, 3, 3}
			tt.load.SessionConcurrency = 1
			sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(), load: tt.load, reply: true}.run()
			f := sum.Footer
			if f.Planned != tt.planned || f.OK != tt.ok || f.NotIssued != tt.planned-tt.ok || f.Reason != tt.reason || f.Message != tt.message || int64(len(requests)) != tt.ok {
				t.Errorf("%+v, %d requests", f, len(requests))
			}
		})
	}
}

// Stages of concurrency bound sessions by time, too.
func TestStagesDrawSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{1, 1}
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(), repeat: plan.RepeatCycle,
			load: spec.Load{Stages: []spec.Stage{{Concurrency: 2, Duration: spec.Duration(2500 * time.Millisecond)}, {Concurrency: 1, Duration: spec.Duration(2 * time.Second)}}}}.run()
		// Two at a time at 0, 1 and 2 s; of the two that end at 3 s one has no successor.
		if f := sum.Footer; f.Reason != tape.ReasonDuration || f.Planned != 8 || f.OK != 8 || len(requests) != 8 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}
