package main

import (
	"fmt"
	"math"
)

// level is a number of streams in flight, and how it is offered.
type level struct {
	name    string
	streams int64
	rate    float64 // tokens/s of a stream
	seconds float64 // of tokens
	pairs   int
	env     []string // of both clients
	hogs    int      // processes that take what processor time they can get
}

const mostEvents = 100_000 // a second: what a server beside the client can write on 2 cores

// newLevel is so many streams of 100 tokens/s, or of what comes to 100,000 events/s.
func newLevel(streams int64, seconds float64, pairs int) level {
	return level{name: fmt.Sprint(streams), streams: streams, rate: math.Min(100, mostEvents/float64(streams)), seconds: seconds, pairs: pairs}
}

// levels are those of the flags.
func (b *bench) levels() []level {
	if b.tiny {
		return []level{newLevel(8, 0.2, 1)}
	}
	seconds := pick(b, 5.0, 2.5, 0)
	if b.short {
		return []level{newLevel(64, seconds, b.pairs), newLevel(512, seconds, b.pairs)}
	}
	some := min(b.pairs, 3)
	all := []level{newLevel(64, seconds, some), newLevel(256, seconds, some), newLevel(512, seconds, b.pairs)}
	for _, n := range []int64{1024, 2048, 4096, 10_000} {
		all = append(all, newLevel(n, seconds, some))
	}
	return all
}

// trial is a level as a load: streams begin one after the other over a second or more,
// and each is longer than that, so that all are in flight for most of the time.
func (l level) trial() trial {
	ramp := math.Max(1, float64(l.streams)/2000)
	events := max(2, int(l.rate*(l.seconds+ramp)))
	return trial{
		serve: serving{Events: events, TTFT: 200e6, Gap: int64(1e9 / l.rate)},
		load:  load{Requests: l.streams, Concurrency: l.streams, Rate: float64(l.streams) / ramp, Events: events, Verdict: true},
		env:   l.env,
	}
}

// fidelity holds stamps against the server's truth.
func (b *bench) fidelity() error {
	t := table{Name: "fidelity", Title: "client stamp minus truth, ms; independent streams, first token after 200 ms",
		Columns: columns("case|streams", "rate|tokens/s each", "client|client", "event_p50|event p50", "event_p99|event p99", "event_p99_ratio|÷ bare", "ttft_p50|TTFT p50", "ttft_p50_ratio|÷ bare", "ttft_p99|TTFT p99", "e2e_p50|E2E p50", "e2e_p99|E2E p99", "cpu_ns|CPU ns/event", "verdict|client-bound"),
		Notes: []string{"medians over the pairs; ÷ bare: median of the pairs' ratios; TTFT and E2E: absolute differences",
			"client-bound: how many of the runs' own verdicts say that the client made the numbers"}}
	for _, l := range b.levels() {
		all, err := b.take("fidelity "+l.name, l.pairs, l.trial(), true)
		if err != nil {
			return err
		}
		b.fidelityRows(&t, l, all)
	}
	b.tables = append(b.tables, t)
	return nil
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
				if l.streams == 512 && len(l.env) == 0 && l.hogs == 0 {
					text := map[string]string{"event_p99": "p99 event error", "ttft_p50": "median TTFT error"}[f.key]
					b.goals = append(b.goals, goal{Case: "fidelity", Text: text + " ÷ the reference's at 512 streams of 100 tokens/s", Value: r.Median, Limit: 1.5})
				}
			}
		}
		if client == nameOurs {
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
