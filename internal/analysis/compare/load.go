package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tokentape/internal/analysis"
	"tokentape/tape"
)

// Input is a side as the user gave it: a path that is shown, and its tapes.
type Input struct {
	Path  string
	Tapes []string
}

// run is what is kept of one tape: its results, header facts, and, for pairing,
// values per plan row.
type run struct {
	ref     Ref
	res     *analysis.Results // without rows
	facts   map[string]string
	started time.Time
	ended   time.Time // start + the end of its last window
	rows    []planRow
	// Of the window that is compared, and of the run (failed_share).
	service   map[string]*float64
	serviceCI map[string][2]*float64
}

// planRow is what pairing needs of an ok request of the measured phase.
type planRow struct {
	seq, item int64
	windows   []string
	values    [len(rowMetrics)]*float64
}

type side struct {
	name string
	path string
	runs []*run
}

// load reads the tapes of a side, oldest first. open is that of Options; keepRows keeps the values per row and
// the intervals within the run.
func load(name string, in Input, open func(string) (*tape.Reader, error), windows []string, keepRows bool) (*side, error) {
	if open == nil {
		open = tape.OpenFile
	}
	s := &side{name: name, path: in.Path}
	for _, path := range in.Tapes {
		r, err := loadRun(path, open, windows, keepRows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s.runs = append(s.runs, r)
	}
	slices.SortStableFunc(s.runs, func(a, b *run) int { return a.started.Compare(b.started) })
	return s, nil
}

func loadRun(path string, open func(string) (*tape.Reader, error), windows []string, keepRows bool) (*run, error) {
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	w := &witness{Reader: t}
	// Intervals within a run serve where there is one run a side alone.
	res, err := analysis.Analyse(w, analysis.Options{Windows: windows, NoCI: !keepRows})
	if err != nil {
		return nil, err
	}
	r := &run{
		ref: Ref{
			Path: path, Run: res.Run, Started: res.About.Started, TapeSHA256: res.TapeSHA256, Fit: res.Verdict.Fit, Verdict: res.Verdict.Line,
			Planned: res.Counts.Planned, OK: res.Counts.OK, Failed: res.Counts.Failed,
		},
		res: res, facts: factsOf(w.header, w.caps, w.said),
	}
	if r.started, err = time.Parse(time.RFC3339Nano, res.About.Started); err != nil {
		r.started = time.Time{} // a foreign tape; order and overlap are then not known
	}
	for _, win := range res.Windows {
		if win.To != nil && !r.started.IsZero() {
			if end := r.started.Add(time.Duration(*win.To * 1e9)); end.After(r.ended) {
				r.ended = end
			}
		}
	}
	if keepRows {
		for _, row := range res.Rows.All() {
			if row.Phase != string(tape.PhaseMeasure) || row.Outcome != string(tape.OutcomeOK) {
				continue
			}
			p := planRow{seq: row.Seq, item: row.DatasetRow, windows: row.Windows}
			for i, m := range rowMetrics {
				p.values[i] = m.of(&row)
			}
			r.rows = append(r.rows, p)
		}
	}
	res.Rows = analysis.Rows{}
	return r, nil
}

// witness keeps what stands on a tape beside the requests while analysis reads it.
type witness struct {
	*tape.Reader
	header *tape.Header
	caps   []*tape.Capabilities
	said   []*tape.ServerFacts
}

func (w *witness) Next() (tape.Record, error) {
	rec, err := w.Reader.Next()
	if err == nil {
		switch rec := rec.(type) {
		case *tape.Header:
			w.header = rec
		case *tape.Capabilities:
			w.caps = append(w.caps, rec)
		case *tape.ServerFacts:
			w.said = append(w.said, rec)
		}
	}
	return rec, err
}

// factsOf flattens what the header, the capabilities and the servers before the run
// say, by path. What is different in every run by itself is left out: times, loads and
// the command, whose effect is in the spec.
func factsOf(h *tape.Header, caps []*tape.Capabilities, said []*tape.ServerFacts) map[string]string {
	out := map[string]string{}
	if h == nil {
		return out
	}
	c := *h
	c.Run, c.Notes, c.Anchor.Wall, c.Anchor.Machine, c.Merged = "", nil, "", 0, nil
	c.Command, c.Host.Load, c.Host.Available, c.Host.Steal, c.Envelope = nil, nil, 0, tape.Opt[float64]{}, nil
	flattenJSON(out, "", c)
	if h.Envelope != nil {
		out["envelope"] = enveloped(h.Envelope)
	}
	if h.Merged != nil { // what its parts say the header says for all of them
		out["merged.parts"] = fmt.Sprint(len(h.Merged.Parts))
	}
	for _, path := range []string{"type", "run", "name", "anchor.wall", "anchor.machine_ns"} {
		delete(out, path)
	}
	for _, k := range caps {
		c, path := *k, "capabilities"
		if n := k.URL.Or(0); n > 0 {
			path = fmt.Sprintf("capabilities[%d]", n)
		}
		c.How, c.By, c.URL = nil, nil, tape.Opt[int64]{} // sentences with times
		flattenJSON(out, path, c)
		delete(out, path+".type")
	}
	var servers []string
	for _, f := range said {
		if f.When != tape.FactsBefore {
			continue
		}
		at := slices.Index(servers, f.URL)
		if at < 0 {
			at = len(servers)
			servers = append(servers, f.URL)
		}
		path := "server.says"
		if at > 0 {
			path = fmt.Sprintf("server.says[%d]", at)
		}
		for name, v := range f.Facts {
			out[path+" "+name] = masked(name, v)
		}
	}
	return out
}

// enveloped is what a client's envelope comes to, its measurements left out: at each rate
// the most streams that it held, or the fewest that it did not. Numbers and units alone,
// which are the same in every language: "≤1 ms: 48 × 20 tokens/s, <16 × 100 tokens/s".
func enveloped(e *tape.Envelope) string {
	held, missed := map[float64]int64{}, map[float64]int64{}
	for _, p := range e.Points {
		if p.Held {
			held[p.Rate] = max(held[p.Rate], p.Streams)
		} else if n, ok := missed[p.Rate]; !ok || p.Streams < n {
			missed[p.Rate] = p.Streams
		}
	}
	var parts []string
	rates := map[float64]bool{}
	for _, p := range e.Points {
		rates[p.Rate] = true
	}
	for _, rate := range slices.Sorted(maps.Keys(rates)) {
		if n := held[rate]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %.4g tokens/s", n, rate))
		} else {
			parts = append(parts, fmt.Sprintf("<%d × %.4g tokens/s", missed[rate], rate))
		}
	}
	return fmt.Sprintf("≤%.3g ms: %s", float64(e.Limit)/1e6, strings.Join(parts, ", "))
}

func flattenJSON(out map[string]string, path string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // a header that was read can be written
	}
	flatten(out, path, b)
}
