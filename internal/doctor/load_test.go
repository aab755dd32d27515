package doctor

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/memnet"
	"tokentape/simserver"
	"tokentape/tape"
)

// In virtual time nothing is late: a stamp is wrong by what the test does to the truth.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, l := clock.New(), memnet.Listen()
		s := &server{clk: clk}
		hs := &http.Server{Handler: s}
		go func() { _ = hs.Serve(l) }()
		defer hs.Close()
		load := &Load{Clock: clk, URL: "http://doctor.test", Span: time.Second, Dial: l.Dial}
		p, err := load.Try(context.Background(), 8, 20)
		if err != nil {
			t.Fatal(err)
		}
		if want := (tape.EnvelopePoint{Streams: 8, Rate: 20, Events: 160}); p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
		if p, err = load.Try(context.Background(), 1, 0.5); err == nil || !strings.Contains(err.Error(), "no event within") {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestCompare(t *testing.T) {
	clk := clock.New()
	base := clk.Machine(0)
	l := &Load{Clock: clk, Span: time.Second}
	q := func(id string, outcome tape.Outcome, ts ...int64) *tape.Request {
		r := &tape.Request{ID: id, Outcome: outcome, TWroteFirst: tape.Some(int64(0))}
		before := int64(0)
		for _, at := range ts {
			r.Events.DT = append(r.Events.DT, at-before)
			before = at
		}
		r.Events.Kind = strings.Repeat("c", len(ts))
		return r
	}
	truth := func(ts ...int64) map[string]*simserver.Truth {
		x := &simserver.Truth{ID: "a"}
		for _, at := range ts {
			x.WriteStart = append(x.WriteStart, base+at)
		}
		return map[string]*simserver.Truth{"a": x}
	}
	const ms = 1_000_000
	for name, tc := range map[string]struct {
		got    *tape.Request
		truths map[string]*simserver.Truth
		err    string
		p99    int64
		events float64
	}{
		"late by 3 ms":          {q("a", tape.OutcomeOK, 103*ms, 203*ms), truth(100*ms, 200*ms), "", 3 * ms, 2},
		"outside is left out":   {q("a", tape.OutcomeOK, 90*ms, 203*ms, 1900*ms), truth(1*ms, 200*ms, 1200*ms), "", 3 * ms, 1},
		"a stream that failed":  {q("a", tape.OutcomeReset), truth(1), "ended as", 0, 0},
		"no truth":              {q("b", tape.OutcomeOK, 1), truth(1), "ended as", 0, 0},
		"more than was written": {q("a", tape.OutcomeOK, 103*ms, 203*ms), truth(100 * ms), "more events than", 0, 0},
		"fewer":                 {q("a", tape.OutcomeOK, 103*ms), truth(100*ms, 200*ms), "1 events of 2", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var p tape.EnvelopePoint
			err := l.compare(&p, 50*ms, []*tape.Request{tc.got}, tc.truths)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%v, want %q", err, tc.err)
			}
			if p.Error != tc.p99 || p.Events != tc.events {
				t.Errorf("%+v", p)
			}
		})
	}
}

// Reach asks twice over each connection, and nothing more.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, l := clock.New(), memnet.Listen()
		conns, gets := map[string]int{}, 0
		hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conns[r.RemoteAddr]++
			gets++
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			_ = clk.SleepUntil(r.Context(), clk.Now()+int64(7*time.Millisecond))
		})}
		go func() { _ = hs.Serve(l) }()
		defer hs.Close()
		got, err := Reach(context.Background(), clk, client.Config{Dial: l.Dial}, "http://doctor.test/v1/models", nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		if gets != 6 || len(conns) != 3 || len(got.GET) != 3 || got.GET[1] != 7*time.Millisecond || got.Status != 200 {
			t.Errorf("%d GETs over %d connections: %+v", gets, len(conns), got)
		}
	})
	_, err := Reach(context.Background(), clock.New(), client.Config{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}, "http://doctor.test/", nil, 1)
	if err == nil {
		t.Error("no connection, and no error")
	}
}

// Told asks on for as long as nothing is told, over one connection, and not a GET longer.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, l := clock.New(), memnet.Listen()
		conns := map[string]int64{}
		hs := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { conns[r.RemoteAddr]++ })}
		go func() { _ = hs.Serve(l) }()
		defer hs.Close()
		trip := Trip{Asked: 16}
		begin := clk.Now()
		Told(context.Background(), clk, client.Config{Dial: l.Dial}, "http://doctor.test/", time.Second, &trip) // memory has no stamps
		if took := time.Duration(clk.Now() - begin); took != time.Second || trip.Waits != 0 || trip.Asked != 16+51 || len(conns) != 1 {
			t.Errorf("%+v over %d connections in %s", trip, len(conns), took)
		}
		if i := Stamps(trip); i.Verdict != None || !strings.Contains(i.Value, "nothing in 67 answers this time: a run says itself") || i.Do == "" {
			t.Errorf("%+v", i)
		}
		trip = Trip{Asked: 16, Waits: 2}
		if Told(context.Background(), clk, client.Config{Dial: l.Dial}, "http://doctor.test/", time.Second, &trip); trip.Asked != 16 || Stamps(trip).Verdict != OK {
			t.Errorf("told already, and asked on: %+v", trip)
		}
	})
}
