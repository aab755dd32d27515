package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

var serverQuantileColumns = []string{"p50", "p90", "p95", "p99"}

// server.csv has one line per metrics page (row "source"), gap, reset, and per
// window and named row ("window"), per reading and gauge ("point"), and per series
// over the whole run or, in a window, at its first and last reading ("series").
var serverHead = func() []string {
	h := []string{"row", "source", "part", "role", "kind", "window", "from_s", "to_s", "t_s", "name", "series", "series_n", "unit", "type", "n", "value", "mean", "min", "max", "first", "last", "increase", "per_s", "resets", "covered_s", "length_s", "observations"}
	for _, q := range serverQuantileColumns {
		h = append(h, q, q+"_low", q+"_high", q+"_client", q+"_client_minus_server")
	}
	return append(h, "mean_client", "mean_client_minus_server", "n_client", "text")
}()

// ServerCSV writes server.csv (RFC 4180) in full precision: what the metrics pages
// said. Times are seconds since the run's t = 0; an absent value is an empty cell.
// Without metrics pages it is its head alone.
func ServerCSV(w io.Writer, r *analysis.Results) error {
	if err := finite(r); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	out.Write(serverHead)
	put := func(rec record) {
		line := make([]string, len(serverHead))
		for i, h := range serverHead {
			line[i] = rec[h]
		}
		out.Write(line)
	}
	if r.Server != nil {
		if err := serverRecords(r.Server, put); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func serverRecords(s *analysis.Server, put func(record)) error {
	for i := range s.Sources {
		src := &s.Sources[i]
		base := func(row string) record {
			rec := record{"row": row, "source": guard(src.Name), "role": guard(src.Role), "kind": guard(src.Kind)}
			rec.whole("part", src.Part)
			return rec
		}
		rec := base("source")
		rec.float("from_s", src.FromS)
		rec.float("to_s", src.ToS)
		rec.whole("n", &src.Readings)
		rec.whole("series_n", &src.SeriesN)
		rec.whole("resets", &src.ResetsN)
		rec["text"] = guard(join("; ", "failed "+count(src.Failed), src.Example, strings.Join(src.Warnings, "; ")))
		put(rec)
		for _, g := range src.Gaps {
			rec := base("gap")
			rec.float("from_s", &g.FromS)
			rec.float("to_s", &g.ToS)
			rec["text"] = guard(g.Why)
			put(rec)
		}
		for _, x := range src.Resets {
			rec := base("reset")
			rec.float("t_s", &x.TS)
			rec.whole("n", &x.Counters)
			rec["text"] = guard(x.Why)
			put(rec)
		}
	}
	for i := range s.Windows {
		w := &s.Windows[i]
		for k := range w.Rows {
			put(serverRecord(w, &w.Rows[k]))
		}
	}
	for p := range s.Points.All() {
		rec := record{"row": "point", "source": guard(p.Source), "name": p.Name, "series": guard(p.Series), "unit": p.Unit}
		rec.whole("part", p.Part)
		rec.float("t_s", &p.TS)
		rec.float("value", &p.Value)
		put(rec)
	}
	return s.Series.Each(func(x analysis.ServerSeries) {
		rec := record{"row": "series", "source": guard(x.Source), "window": x.Window, "series": guard(x.Name), "type": x.Type}
		rec.whole("part", x.Part)
		rec.whole("n", x.N)
		rec.float("first", x.First)
		rec.float("last", x.Last)
		rec.float("min", x.Min)
		rec.float("max", x.Max)
		rec.float("increase", x.Increase)
		rec.whole("resets", x.Resets)
		put(rec)
	})
}

func serverRecord(w *analysis.ServerWindow, r *analysis.ServerRow) record {
	rec := record{"row": "window", "source": guard(w.Source), "window": w.Window, "name": r.Name, "series": guard(r.Series), "unit": r.Unit, "type": r.Type}
	rec.whole("part", w.Part)
	rec.whole("series_n", &r.Of)
	rec.whole("n", &r.N)
	rec.float("mean", r.Mean)
	rec.float("min", r.Min)
	rec.float("max", r.Max)
	rec.float("last", r.Last)
	rec.float("increase", r.Increase)
	rec.float("per_s", r.PerS)
	rec.whole("resets", &r.Resets)
	rec.float("from_s", w.FromS)
	rec.float("to_s", w.ToS)
	rec.float("covered_s", &w.CoveredS)
	rec.float("length_s", &w.LengthS)
	text := slices.Clone(r.Warnings)
	if h := r.Histogram; h != nil {
		rec.float("observations", &h.N)
		for _, q := range serverQuantileColumns {
			b := h.Quantiles[q]
			rec.float(q, b.Value)
			rec.float(q+"_low", b.Low)
			rec.float(q+"_high", b.High)
			rec.float(q+"_client_minus_server", h.Difference[q].Value)
			if h.Client != nil {
				rec.float(q+"_client", h.Client.Quantiles[q])
			}
		}
		if h.Client != nil {
			rec.float("mean_client", h.Client.Mean)
			rec.whole("n_client", &h.Client.N)
			text = append(text, "client: "+h.Client.Of)
		}
		rec.float("mean_client_minus_server", h.DifferenceMean)
		if h.Counts != "" {
			text = append(text, "server: "+h.Counts)
		}
	}
	rec["text"] = guard(strings.Join(text, "; "))
	return rec
}
