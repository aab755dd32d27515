package main

import (
	"fmt"
	"io"
	"slices"

	"tokentape/internal/clock"
)

// options are the flags.
type options struct {
	only      []string
	short     bool
	tiny      bool // for tests: every case in the least time in which it can be seen to work
	pairs     int
	clients   []external
	tokentape string // binary whose start is timed; "": one is built
	profile   string // file of a CPU profile of the client under test
}

// bench runs cases and gathers what they find.
type bench struct {
	options
	clk    *clock.Clock
	log    io.Writer // of progress
	out    io.Writer // of tables, each when its case is done
	tables []table
	goals  []goal
	kept   []keptRun
}

// keptRun is a single run of a client, as it stands in JSON.
type keptRun struct {
	What string `json:"what"`
	result
}

// one of the cases.
type benchCase struct {
	name, about string
	run         func(*bench) error
}

var cases = []benchCase{
	{"cpu", "events/s and processor time an event, without any delay", (*bench).cpu},
	{"fidelity", "stamps against the server's truth, by streams in flight", (*bench).fidelity},
	{"pace", "how late requests leave, by rate", (*bench).pace},
	{"memory", "memory a stream in flight", (*bench).memory},
	{"analysis", "time and memory of an analysis, by size of tape", (*bench).analysis},
	{"bodies", "what sending prompts of 128K tokens costs", (*bench).bodies},
	{"startup", "--help, and the demo's first request", (*bench).startup},
}

func caseNames() (names []string) {
	for _, c := range cases {
		names = append(names, c.name)
	}
	return names
}

// run runs the cases that were asked for. A case that fails is said and the others run.
func (b *bench) run() (failed []error) {
	for _, c := range cases {
		if len(b.only) > 0 && !slices.Contains(b.only, c.name) {
			continue
		}
		begin, had := b.clk.Now(), len(b.tables)
		err := c.run(b)
		for _, t := range b.tables[had:] {
			t.print(b.out)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			fmt.Fprintf(b.log, "%s: FAILED: %v\n", c.name, err)
		}
		fmt.Fprintf(b.log, "%s: %.0f s\n", c.name, float64(b.clk.Now()-begin)/1e9)
	}
	return failed
}

// pick is full, short or tiny, as the flags say.
func pick[T any](b *bench, full, short, tiny T) T {
	switch {
	case b.tiny:
		return tiny
	case b.short:
		return short
	}
	return full
}

// runs are the results of one client, in the order in which they ran.
type runs []result

// figures are one figure of each run.
func (r runs) figures(of func(result) float64) (out []float64) {
	for _, x := range r {
		out = append(out, of(x))
	}
	return out
}

func (r runs) median(of func(result) float64) float64 { return median(r.figures(of)) }

// take lets the clients take turns, n times; every other round runs backwards, so that
// what drifts favours nobody. Stamps are compared where they can be had.
func (b *bench) take(what string, n int, t trial, truths bool) (map[string]runs, error) {
	names := []string{nameOurs, nameBare}
	if !truths {
		for _, e := range b.clients {
			names = append(names, e.name)
		}
	}
	all := map[string]runs{}
	t.load.Profile = b.profile
	for i := range n {
		for _, name := range names {
			r, err := b.one(name, t, truths)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			all[name] = append(all[name], r)
			b.kept = append(b.kept, keptRun{what, r})
		}
		slices.Reverse(names)
		fmt.Fprintf(b.log, "%s: %d of %d\n", what, i+1, n)
	}
	return all, nil
}

func (b *bench) one(name string, t trial, truths bool) (result, error) {
	if t.watch {
		return b.watched(name, t, truths)
	}
	return b.send(name, t, truths)
}

func (b *bench) send(name string, t trial, truths bool) (result, error) {
	for _, e := range b.clients {
		if e.name == name {
			return t.runExternal(e)
		}
	}
	return t.run(name, truths)
}

// names are those of the clients of a result, ours first, then the reference.
func (b *bench) names(all map[string]runs) (names []string) {
	names = []string{nameOurs, nameBare}
	for _, e := range b.clients {
		if all[e.name] != nil {
			names = append(names, e.name)
		}
	}
	return names
}
