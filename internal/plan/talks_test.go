package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/spec"
	"tokentape/tape"
)

// A generator of sessions draws the same rows in whatever order they are asked for,
// also after it was saved; sessions are whole, and what it draws is what a plan of a
// given number of sessions has.
func TestDrawnSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.SliceOfN(rapid.Int32Range(1, 6), 1, 30).Draw(t, "turns")
		l := spec.Load{Duration: dur(time.Minute), Warmup: rapid.Int64Range(0, 5).Draw(t, "w"), SessionConcurrency: 3,
			Think: spec.Think{Kind: rapid.SampledFrom([]string{"fixed", "uniform", "exponential"}).Draw(t, "kind"), Mean: dur(time.Second)}}
		order := rapid.SampledFrom([]string{OrderFile, OrderShuffle}).Draw(t, "order")
		seeds := spec.Seeds{Run: rapid.Int64().Draw(t, "seed")}
		data := Data{Rows: int64(len(turns)), Turns: turns}
		made := func() *Plan {
			p, err := MakeOf(l, 8, data, RepeatCycle, order, seeds)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := made()
		if p.Kind != KindGenerator || p.Planned() != -1 || p.Rows() != 0 || p.Sessions() != 0 || p.TailRows() != 0 {
			t.Fatalf("%s, %d planned", p.Kind, p.Planned())
		}
		want := rowsOf(p, 200)
		var warm int64
		var last Row
		for i, r := range want {
			switch {
			case r.Seq != int64(i) || r.Due != NoDue || r.Output != 8,
				r.Turn == 0 && (r.Session != last.Session+1 || r.Think != 0 || i > 0 && last.Turn+1 != int(turns[last.Item])),
				r.Turn > 0 && (r.Session != last.Session || r.Turn != last.Turn+1 || r.Item != last.Item || r.Phase != last.Phase || r.Think == 0),
				(r.Phase == tape.PhaseWarmup) != (r.Session <= l.Warmup):
				t.Fatalf("row %d: %+v after %+v", i, r, last)
			}
			if r.Phase == tape.PhaseWarmup {
				warm++
			}
			if n := p.Turns(r.Seq - int64(r.Turn)); n != int(turns[r.Item]) {
				t.Fatalf("row %d: session of %d turns", i, n)
			}
			last = r
		}
		if p.Warmup() != warm {
			t.Fatalf("%d warm-up rows, want %d", p.Warmup(), warm)
		}
		var saved bytes.Buffer
		if err := p.Write(&saved); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&saved)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := back.At(0); ok {
			t.Fatal("rows are drawn before it is known how many turns there are")
		}
		if err := back.CheckTurns(turns); err != nil {
			t.Fatal(err)
		}
		if back.SHA256() != p.SHA256() || back.Warmup() != warm {
			t.Fatal("another plan is read back")
		}
		for _, at := range rapid.SliceOfN(rapid.Int64Range(0, 199), 1, 20).Draw(t, "places") {
			if r, ok := back.At(at); !ok || r != want[at] {
				t.Fatalf("row %d: %+v, want %+v", at, r, want[at])
			}
		}
	})
}

// Without repeats a generator ends with the dataset: all sessions are drawn, each
// once, and none in part.
func TestDrawnSessionsEnd(t *testing.T) {
	turns := []int32{3, 1, 4, 2}
	p, err := MakeOf(spec.Load{Duration: dur(time.Minute), Warmup: 1, SessionConcurrency: 1}, 0, Data{Rows: 4, Turns: turns}, "", "", spec.Seeds{})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(p, 10)
	if _, ok := p.At(10); ok || len(rows) != 10 || rows[0].Item != 3 || p.Warmup() != 2 || rows[9].Item != 2 || rows[9].Turn != 3 {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
	if got := p.String(); got != "sessions for 60 s, closed loop with 1 session open, after 2 warm-ups" {
		t.Errorf("%q", got)
	}
	if p.Ended(true) != "" || len(p.NeverReached()) != 0 {
		t.Errorf("one bound alone is named: %q", p.Ended(true))
	}
}

// The cap on requests and the cap on sessions are two settings: the plan ends with
// the first that is reached, and says which never is.
func TestCapsOnSessionsAndRequests(t *testing.T) {
	turns := []int32{3, 1, 4, 2, 5}
	for _, c := range []struct {
		name          string
		load          spec.Load
		repeat        string
		planned, warm int64
		sessions      int64
		never         string
		ended, byTime string
	}{
		{name: "sessions first", load: spec.Load{Sessions: 2, Requests: 90}, planned: 4, sessions: 2,
			never: "load.requests 90 is never reached: load.sessions 2 ends the run after 4 requests", ended: "load.sessions 2 ended the run; load.requests 90 never reached",
			byTime: "load.sessions 2 and load.requests 90 never reached"},
		{name: "requests first, in mid-session", load: spec.Load{Sessions: 5, Requests: 6}, planned: 6, sessions: 3,
			never: "load.sessions 5 is never reached: load.requests 6 ends the run in session 3", ended: "load.requests 6 ended the run; load.sessions 5 never reached"},
		{name: "requests, in the last session", load: spec.Load{Sessions: 2, Requests: 2}, planned: 2, sessions: 1,
			never: "load.sessions 2 is never reached: load.requests 2 ends the run in session 1", ended: "load.requests 2 ended the run; load.sessions 2 never reached"},
		{name: "requests, in the middle of the last session", load: spec.Load{Sessions: 3, Requests: 6}, planned: 6, sessions: 3,
			never: "load.sessions 3 is never reached: load.requests 6 ends the run in session 3", ended: "load.requests 6 ended the run; load.sessions 3 never reached"},
		{name: "both at once", load: spec.Load{Sessions: 2, Requests: 4}, planned: 4, sessions: 2, ended: "load.sessions 2 and load.requests 4 ended the run"},
		{name: "requests alone", load: spec.Load{Requests: 7}, planned: 7, sessions: 3},
		{name: "requests alone, rows again", load: spec.Load{Requests: 31}, repeat: RepeatCycle, planned: 31, sessions: 11},
		{name: "requests after a warm-up", load: spec.Load{Requests: 2, Sessions: 2, Warmup: 2}, planned: 2, warm: 6, sessions: 3,
			never: "load.sessions 2 is never reached: load.requests 2 ends the run in session 1", ended: "load.requests 2 ended the run; load.sessions 2 never reached"},
		{name: "time beside them", load: spec.Load{Requests: 90, Sessions: 2, Duration: dur(time.Minute)}, planned: 4, sessions: 2,
			never: "load.requests 90 is never reached: load.sessions 2 ends the run after 4 requests", ended: "load.sessions 2 ended the run; load.requests 90 and load.duration 60 s never reached",
			byTime: "load.duration 60 s ended the run; load.sessions 2 and load.requests 90 never reached"},
		{name: "due within a time", load: spec.Load{Sessions: 5, Requests: 90, Rate: 1, Duration: dur(2500 * time.Millisecond)}, planned: 8, sessions: 3,
			never: "load.sessions 5 is never reached: 3 fall within load.duration 2.5 s|load.requests 90 is never reached: 8 fall within load.duration 2.5 s",
			ended: "load.duration 2.5 s ended the run; load.sessions 5 and load.requests 90 never reached"},
		{name: "by rate, requests first", load: spec.Load{Requests: 5, Rate: 1}, planned: 5, sessions: 3},
	} {
		c.load.SessionConcurrency = 2
		p, err := MakeOf(c.load, 0, Data{Rows: 5, Turns: turns}, c.repeat, "", spec.Seeds{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Kind != KindRows || p.Planned() != c.planned || p.Sessions() != c.sessions || p.Warmup() != c.warm {
			t.Errorf("%s: %s with %d planned, %d sessions, %d warm-ups", c.name, p.Kind, p.Planned(), p.Sessions(), p.Warmup())
		}
		if got := strings.Join(p.NeverReached(), "|"); got != c.never {
			t.Errorf("%s: never reached %q, want %q", c.name, got, c.never)
		}
		if got := p.Ended(false); got != c.ended {
			t.Errorf("%s: ended %q, want %q", c.name, got, c.ended)
		}
		if got := p.Ended(true); c.byTime != "" && got != c.byTime {
			t.Errorf("%s: ended by time %q, want %q", c.name, got, c.byTime)
		}
		var saved bytes.Buffer
		p.Write(&saved)
		back, err := Read(&saved)
		if err != nil || back.CheckTurns(turns) != nil || !slices.Equal(rowsOf(p, p.Rows()), rowsOf(back, back.Rows())) {
			t.Errorf("%s: does not read back: %v", c.name, err)
		} else if back.Ended(false) != c.ended {
			t.Errorf("%s: ended %q once read back, want %q", c.name, back.Ended(false), c.ended)
		}
	}
	for name, l := range map[string]spec.Load{"closed": {Requests: 16}, "by rate": {Requests: 16, Rate: 1}, "with a warm-up": {Requests: 12, Warmup: 2}} {
		l.SessionConcurrency = 1
		if _, err := MakeOf(l, 0, Data{Rows: 5, Turns: turns}, "", "", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "load.requests") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := MakeOf(spec.Load{Requests: 40, Rate: 2, Duration: dur(10 * time.Second)}, 0, Data{Rows: 50}, "", "", spec.Seeds{})
	if err != nil || strings.Join(p.NeverReached(), "|") != "load.requests 40 is never reached: 20 fall within load.duration 10 s" {
		t.Errorf("%v, %v", p.NeverReached(), err)
	}
}
