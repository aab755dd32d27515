package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// level is a number of streams in flight, and how it is offered.
type level struct {
	name    string
	streams int64
	rate    float64 // tokens/s of a stream
	seconds float64 // of tokens
	pairs   int
	env     []string // of both clients
	engine  bool     // the simulated server, which writes to all streams at once
	hogs    int      // processes that take what processor time they can get
}

const mostEvents = 100_000 // a second: what a server beside the client can write on 2 cores

// newLevel is so many streams of 100 tokens/s, or of what comes to 100,000 events/s.
func newLevel(streams int64, seconds float64, pairs int) level {
	return level{name: fmt.Sprint(streams), streams: streams, rate: math.Min(100, mostEvents/float64(streams)), seconds: seconds, pairs: pairs}
}

// levels are those of the flags.
func (b *bench) levels() []level {
	seconds := pick(b, 5.0, 2.5, 0.2)
	if b.tiny {
		return []level{newLevel(8, seconds, 1), newLockstep(8, seconds, 1)}
	}
	if b.short {
		return []level{newLevel(64, seconds, b.pairs), newLevel(512, seconds, b.pairs)}
	}
	some := min(b.pairs, 3)
	all := []level{newLevel(64, seconds, some), newLevel(256, seconds, some), newLevel(512, seconds, b.pairs)}
	for _, n := range []int64{1024, 2048, 4096, 10_000} {
		all = append(all, newLevel(n, seconds, some))
	}
	all = append(all, newLockstep(64, seconds, some), newLockstep(256, seconds, some))
	return append(all, overloads(seconds, some)...)
}

// newLockstep is so many streams of the simulated server.
func newLockstep(streams int64, seconds float64, pairs int) level {
	l := newLevel(streams, seconds, pairs)
	l.name, l.engine = fmt.Sprintf("%d in lockstep", streams), true
	return l
}

// overloads are levels at which a client must find that it made the numbers itself.
func overloads(seconds float64, pairs int) []level {
	one := newLevel(512, seconds, pairs)
	one.name, one.env = "512, one thread", []string{"GOMAXPROCS=1"}
	beside := newLevel(512, seconds, pairs)
	beside.name, beside.hogs = "512, 4 busy processes", 4
	both := newLevel(1024, seconds, pairs)
	both.name, both.env, both.hogs = "1024, one thread, 4 busy processes", []string{"GOMAXPROCS=1"}, 4
	return []level{one, beside, both}
}

// trial is a level as a load: streams begin one after the other, mostly over a second or
// more, and each is longer than that, so that all are in flight for most of the time.
func (l level) trial() trial {
	ramp := math.Max(math.Min(1, l.seconds/2), float64(l.streams)/2000)
	events := max(2, int(l.rate*(l.seconds+ramp)))
	return trial{
		serve: serving{Events: events, TTFT: 200e6, Gap: int64(1e9 / l.rate), Engine: l.engine},
		load:  load{Requests: l.streams, Concurrency: l.streams, Rate: float64(l.streams) / ramp, Events: events, Verdict: true},
		env:   l.env,
	}
}

// fidelity holds stamps against the server's truth.
func (b *bench) fidelity() error {
	t := table{Name: "fidelity", Title: "client stamp minus truth, ms",
		Columns: columns("case|streams", "rate|tokens/s each", "client|client", "event_p50|event p50", "event_p99|event p99", "event_p99_ratio|÷ bare", "client_wait|client wait p99", "ttft_p50|TTFT p50", "ttft_p50_ratio|÷ bare", "ttft_p99|TTFT p99", "e2e_p50|E2E p50", "e2e_p99|E2E p99", "cpu_ns|CPU ns/event", "verdict|client-bound"),
		Notes: []string{"medians over the pairs; ÷ bare: median of the pairs' ratios; TTFT and E2E: absolute differences",
			"in lockstep: the simulated server, whose engine writes to all streams in one step; else independent streams", "client wait: what the run itself saw of that, by the kernel's stamps; it takes no truth, and is a lower bound", "client-bound: how many of the runs' own verdicts say that the client made the numbers"}}
	defer b.keepTable(&t)
	var said verdicts
	for _, l := range b.levels() {
		stop, err := hogs(l.hogs)
		if err != nil {
			return err
		}
		all, err := b.take("fidelity "+l.name, l.pairs, l.trial(), true)
		stop()
		if err != nil {
			t.Notes = append(t.Notes, "not measured: "+err.Error())
			continue
		}
		b.fidelityRows(&t, l, all)
		said.add(all[nameOurs], all[nameBare])
	}
	b.goals = append(b.goals, said.goals()...)
	if len(t.Rows) == 0 {
		return errors.New(strings.Join(t.Notes, "; "))
	}
	return nil
}

// verdicts count what the runs' own verdicts said where the truth leaves no doubt.
type verdicts struct{ bound, missed, clean, wrong int }

// Stamp errors of p99, in ms, from which a run must be called client-bound when the
// reference's is over it too, and under which it must not.
const mustFire, mustNotFire = 5.0, 1.0

func (v *verdicts) add(ours, bare runs) {
	for i, r := range ours {
		fired := r.Sent.Verdict == "miss"
		switch p99 := r.Errors.EventP99; {
		case p99 > mustFire && bare[i].Errors.EventP99 > mustFire:
			v.bound++
			if !fired {
				v.missed++
			}
		case p99 < mustNotFire:
			v.clean++
			if fired {
				v.wrong++
			}
		}
	}
}

func (v verdicts) goals() []goal {
	return []goal{
		{Case: "fidelity", Text: "runs with a p99 stamp error over 5 ms, the reference's too, that the verdict did not call client-bound", Value: float64(v.missed), Loose: fmt.Sprintf("of %d such runs", v.bound)},
		{Case: "fidelity", Text: "runs with a p99 stamp error under 1 ms that it did", Value: float64(v.wrong), Loose: fmt.Sprintf("of %d such runs", v.clean)},
	}
}

var errorFigures = []struct {
	key string
	of  func(*stampErrors) float64
}{
	{"event_p50", func(e *stampErrors) float64 { return e.EventP50 }},
	{"event_p99", func(e *stampErrors) float64 { return e.EventP99 }},
	{"ttft_p50", func(e *stampErrors) float64 { return e.TTFTP50 }},
	{"ttft_p99", func(e *stampErrors) float64 { return e.TTFTP99 }},
	{"e2e_p50", func(e *stampErrors) float64 { return e.E2EP50 }},
	{"e2e_p99", func(e *stampErrors) float64 { return e.E2EP99 }},
}

// clientWaits are those of the runs that observed it.
func (r runs) clientWaits() (ms []float64) {
	for _, x := range r {
		if x.Sent.ClientWait != nil {
			ms = append(ms, *x.Sent.ClientWait)
		}
	}
	return ms
}

func (b *bench) fidelityRows(t *table, l level, all map[string]runs) {
	events := l.trial().load.Events
	for _, client := range b.names(all) {
		row := record{"case": l.name, "rate": l.rate, "client": client, "cpu_ns": all[client].median(func(r result) float64 { return r.cpuPerEvent(events) })}
		for _, f := range errorFigures {
			of := func(r result) float64 { return f.of(r.Errors) }
			row[f.key] = all[client].median(of)
			if client == nameOurs && (f.key == "event_p99" || f.key == "ttft_p50") {
				r := newRatio(all[nameOurs].figures(of), all[nameBare].figures(of))
				row[f.key+"_ratio"], row[f.key+"_pairs"] = r.Median, r
				if l.name == "512" {
					text := map[string]string{"event_p99": "p99 event error", "ttft_p50": "median TTFT error"}[f.key]
					b.goals = append(b.goals, goal{Case: "fidelity", Text: text + " ÷ the reference's at 512 streams of 100 tokens/s", Value: r.Median, Limit: 1.5})
				}
			}
		}
		if client == nameOurs {
			if waits := all[client].clientWaits(); len(waits) > 0 {
				row["client_wait"] = median(waits)
			}
			fired := 0
			for _, r := range all[client] {
				if r.Sent.Verdict == "miss" {
					fired++
				}
			}
			row["verdict"] = fmt.Sprintf("%d of %d", fired, len(all[client]))
		}
		t.Rows = append(t.Rows, row)
	}
}
