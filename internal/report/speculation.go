package report

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// speculation is what the server said of its drafts, window by window, and what
// it did not say.
func (c *console) speculation() {
	s := c.r.Speculation
	if s == nil {
		return
	}
	c.heading("Speculation")
	if !told(s) {
		if len(s.NotObserved) > 0 {
			c.hang("  ", clean(absent+": the server told no drafts and no verify steps → "+s.NotObserved[0].Do), plain)
		}
		c.untold(s)
		return
	}
	c.table(c.draftTable(s))
	c.hang("  ", "acceptance length: output tokens ÷ verify steps · acceptance rate: accepted ÷ (accepted + rejected) drafts · tokens per event: of the stream, no acceptance length · engine: means of its own ratios", dim)
	for _, w := range s.Windows {
		c.positions(&w)
	}
	if s.DraftsBy == analysis.DraftsUsage {
		c.hang("  ", "accepted and rejected drafts are those of usage.completion_tokens_details, which OpenAI defines for a prediction that the request gave", dim)
	}
	for _, g := range s.NotObserved {
		c.gap(g)
	}
}

func (c *console) gap(g analysis.SpeculationGap) {
	c.hang("  ", clean(g.What+": "+absent+": "+g.Why+" → "+g.Do), plain)
}

// untold is of several tokens an event and no word of drafts.
func (c *console) untold(s *analysis.Speculation) {
	if g := s.Untold; g != nil {
		c.hang("  ", clean(g.What+": "+g.Why+" → "+g.Do), plain)
	}
}

// told reports whether the server said anything of speculation.
func told(s *analysis.Speculation) bool {
	return slices.ContainsFunc(s.Windows, func(w analysis.SpeculationWindow) bool {
		return w.VerifySteps != nil || w.Accepted != nil || w.Rejected != nil || w.Drafted != nil || w.PositionsN > 0 || len(w.Engine) > 0
	})
}

func (c *console) draftTable(s *analysis.Speculation) table {
	t := table{head: []string{""}}
	for _, w := range s.Windows {
		t.head = append(t.head, clean(w.Window))
	}
	add := func(label string, of func(w *analysis.SpeculationWindow) string) {
		r := row{cells: []string{label}}
		seen := false
		for i := range s.Windows {
			v := of(&s.Windows[i])
			seen = seen || v != ""
			if v == "" {
				v = dash
				c.dashes = true
			}
			r.cells = append(r.cells, v)
		}
		if seen {
			t.rows = append(t.rows, r)
		}
	}
	ratio := func(label string, scale float64, of func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio) {
		add(label, func(w *analysis.SpeculationWindow) string {
			if v := of(w); v != nil && v.Value != nil {
				return num(*v.Value * scale)
			}
			return ""
		})
		add("  of", func(w *analysis.SpeculationWindow) string {
			if v := of(w); v != nil && v.Value != nil {
				return count(v.Over) + " ÷ " + count(v.Under)
			}
			return ""
		})
		add("  n", func(w *analysis.SpeculationWindow) string {
			if v := of(w); v != nil && v.Value != nil {
				return count(v.N)
			}
			return ""
		})
	}
	sum := func(label string, of func(w *analysis.SpeculationWindow) *analysis.SpeculationSum) {
		add(label, func(w *analysis.SpeculationWindow) string {
			if v := of(w); v != nil {
				return count(v.Sum)
			}
			return ""
		})
	}
	ratio("acceptance length", 1, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.AcceptLength })
	ratio("acceptance rate, %", 100, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.AcceptRate })
	ratio("tokens per event (wire)", 1, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.PerEvent })
	ratio("events per verify step", 1, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.EventsPerStep })
	ratio("output outside verify steps, %", 100, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.Uncounted })
	sum("verify steps", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.VerifySteps })
	sum("drafts proposed", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Drafted })
	sum("drafts accepted", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Accepted })
	sum("drafts rejected", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Rejected })
	for _, name := range engineNames(s) {
		add("engine: "+clean(name), func(w *analysis.SpeculationWindow) string {
			i := slices.IndexFunc(w.Engine, func(e analysis.EngineRatio) bool { return e.Name == name })
			if i < 0 {
				return ""
			}
			e := w.Engine[i]
			return num(e.Mean) + " n " + count(e.N)
		})
	}
	return t
}

func engineNames(s *analysis.Speculation) []string {
	var names []string
	for _, w := range s.Windows {
		for _, e := range w.Engine {
			if !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

// positions is a line for the window, a share for each draft of a step.
func (c *console) positions(w *analysis.SpeculationWindow) {
	if len(w.Positions) == 0 {
		return
	}
	var parts []string
	for _, p := range w.Positions {
		parts = append(parts, fmt.Sprintf("%d: %s", p.Position, num(100*p.Share)))
	}
	c.hang("  ", clean(fmt.Sprintf("%s, %% of verify steps that accepted at least so many drafts: %s (%s steps, n %s)",
		w.Window, strings.Join(parts, " · "), count(w.Positions[0].Steps), count(w.PositionsN))), plain)
}

// shortSpeculation says what is missing beside what the tables show: nothing
// where the server told all, or nothing at all.
func (c *console) shortSpeculation() {
	s := c.r.Speculation
	if s == nil {
		return
	}
	c.untold(s)
	if !told(s) {
		return
	}
	for _, g := range s.NotObserved {
		if g.What != analysis.GapPositions {
			c.gap(g)
		}
	}
}

// speculationRecords are lines "speculation" of stats.csv.
func speculationRecords(s *analysis.Speculation, put func(record)) {
	if s == nil {
		return
	}
	for _, w := range s.Windows {
		line := func(name, unit string) record {
			return record{"row": "speculation", "window": w.Window, "name": name, "unit": unit}
		}
		for _, x := range []struct {
			name, unit string
			v          *analysis.SpeculationRatio
		}{
			{"accept_length", "tokens", w.AcceptLength}, {"accept_rate", "share", w.AcceptRate}, {"tokens_per_event", "tokens", w.PerEvent},
			{"events_per_verify_step", "events", w.EventsPerStep}, {"uncounted_output", "share", w.Uncounted},
		} {
			rec := line(x.name, x.unit)
			if x.v != nil {
				rec.whole("n", &x.v.N)
				rec.float("value", x.v.Value)
				rec["text"] = fmt.Sprintf("%d / %d", x.v.Over, x.v.Under)
			}
			put(rec)
		}
		for _, x := range []struct {
			name, unit string
			v          *analysis.SpeculationSum
		}{
			{"verify_steps", "steps", w.VerifySteps}, {"proposed_drafts", "tokens", w.Drafted}, {"accepted_drafts", "tokens", w.Accepted}, {"rejected_drafts", "tokens", w.Rejected},
		} {
			rec := line(x.name, x.unit)
			if x.v != nil {
				rec.whole("n", &x.v.N)
				rec.whole("value", &x.v.Sum)
			}
			put(rec)
		}
		for _, p := range w.Positions {
			rec := line(fmt.Sprintf("accepted_at_position_%d", p.Position), "share")
			rec.whole("n", &w.PositionsN)
			rec.float("value", &p.Share)
			rec["text"] = fmt.Sprintf("%d / %d", p.Accepted, p.Steps)
			put(rec)
		}
		for _, e := range w.Engine {
			rec := line("engine_says_"+guard(e.Name), "")
			rec.whole("n", &e.N)
			rec.float("mean", &e.Mean)
			rec.float("min", &e.Min)
			rec.float("max", &e.Max)
			rec["source"] = "engine"
			put(rec)
		}
	}
	for _, g := range s.NotObserved {
		put(record{"row": "speculation", "name": g.What, "text": guard(absent + ": " + g.Why + "; " + g.Do)})
	}
}
