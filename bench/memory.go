package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// crowd is so many streams in flight at once.
type crowd struct {
	streams int64
	rate    float64 // tokens/s of each
	events  int     // of each
}

// memory is what a stream in flight takes, by the most memory that the client's process
// ever had resident, and whether so many streams complete at all.
func (b *bench) memory() error {
	t := table{Name: "memory", Title: "streams in flight at once; the client's memory at its most",
		Columns: columns("streams|streams", "rate|tokens/s each", "events|events each", "client|client", "complete|complete", "rss_mib|RSS MiB", "idle_mib|before the load", "rss_kib|KiB/stream", "rss_ratio|÷ bare", "cpu_ns|CPU ns/event", "tape_mib|tape MiB"),
		Notes:   []string{"KiB/stream: all of the process over the streams, the program itself included"}}
	defer b.keepTable(&t)
	crowds := pick(b,
		[]crowd{{1000, 10, 600}, {10_000, 10, 600}, {15_000, 2, 60}},
		[]crowd{{1000, 10, 100}, {10_000, 10, 150}},
		[]crowd{{20, 100, 5}})
	for _, c := range crowds {
		if err := b.crowd(&t, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) crowd(t *table, c crowd) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Max < uint64(c.streams)+200 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s streams: left out, the descriptor limit is %d (ulimit -Hn)", thousands(c.streams), limit.Max))
		return nil
	}
	const ramp = 2000 // streams/s that begin
	all, err := b.take(fmt.Sprintf("memory %d", c.streams), 1, trial{
		serve:   serving{Events: c.events, TTFT: 200e6, Gap: int64(1e9 / c.rate)},
		load:    load{Requests: c.streams, Concurrency: c.streams, Rate: ramp, Events: c.events},
		mayFail: true,
	}, false)
	if err != nil {
		return err
	}
	rss := func(r result) float64 { return float64(r.Sent.RSS) }
	for _, client := range b.names(all) {
		r := all[client][0]
		ratio := newRatio(all[client].figures(rss), all[nameBare].figures(rss))
		row := record{"streams": c.streams, "rate": c.rate, "events": c.events, "client": client, "complete": r.Sent.OK,
			"rss_mib": rss(r) / (1 << 20), "rss_kib": rss(r) / float64(c.streams) / 1024, "cpu_ns": r.cpuPerEvent(c.events)}
		if r.Sent.RSSIdle > 0 {
			row["idle_mib"] = float64(r.Sent.RSSIdle) / (1 << 20)
		}
		if r.Sent.Tape > 0 {
			row["tape_mib"] = float64(r.Sent.Tape) / (1 << 20)
		}
		if client != nameBare {
			row["rss_ratio"] = ratio
		}
		t.Rows = append(t.Rows, row)
		if client == nameOurs {
			b.memoryGoals(c, r, ratio)
		}
	}
	return nil
}

// memoryGoals are those of the full sizes alone.
func (b *bench) memoryGoals(c crowd, r result, ratio ratio) {
	switch c {
	case crowd{10_000, 10, 600}:
		b.goals = append(b.goals,
			goal{Case: "memory", Text: "10,000 streams of 10 tokens/s that complete", Value: float64(r.Sent.OK), Limit: 10_000, Least: true},
			goal{Case: "memory", Text: "RSS a stream at 10,000 streams of 600 events", Value: float64(r.Sent.RSS) / float64(c.streams) / 1024, Limit: 64, Unit: "KiB"},
			goal{Case: "memory", Text: "and ÷ the reference's", Value: ratio.OfMedians, Limit: 1.5})
	case crowd{15_000, 2, 60}:
		b.goals = append(b.goals,
			goal{Case: "memory", Text: "15,000 streams of 2 tokens/s that complete", Value: float64(r.Sent.OK), Limit: 15_000, Least: true},
			goal{Case: "memory", Text: "RSS at 15,000 streams", Value: float64(r.Sent.RSS) / (1 << 20), Limit: 1024, Unit: "MiB"})
	}
}
