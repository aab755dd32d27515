package compare

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// sufficiency is the check that repeats what a window says of its own size.
const sufficiency = "window_sufficiency"

// warnings of a side's own runs: what missed, what its windows say, and what changed
// between its runs. Which are not fit stands with the runs, and in the line of the
// verdict.
func (c *comparison) warnings(s *side) []string {
	var out []string
	var texts []string // one for each run and remark
	for _, r := range s.runs {
		for _, k := range r.res.Verdict.Checks {
			if k.Name == sufficiency {
				continue // of another window, perhaps; this one says it itself
			}
			if k.Result == analysis.ResultMiss && k.Severity == analysis.SeverityNote {
				texts = append(texts, k.Name+": "+k.Why)
			}
		}
		if w := c.window(r, c.kind); w != nil {
			for _, t := range w.Warnings {
				texts = append(texts, w.Kind+" window: "+t)
			}
		}
		texts = append(texts, r.res.Notes...)
	}
	for _, t := range alike(texts) {
		out = append(out, s.name+": "+t)
	}
	if paths := s.within(); len(paths) > 0 {
		out = append(out, fmt.Sprintf("%s: its runs differ from each other in %s", s.name, strings.Join(paths, ", ")))
	}
	return out
}

var digits = regexp.MustCompile(`[ab/]*[0-9][0-9.,]*`) // with the folder of a repeat: a/1

// shape is a text without its numbers.
func shape(t string) string {
	return digits.ReplaceAllString(strings.ReplaceAll(t, " once ", " 1 times "), "#")
}

// alike joins texts that differ in their numbers alone: the first, and how many more
// say the like.
func alike(texts []string) []string {
	first, n := []string{}, map[string]int{}
	for _, t := range texts {
		k := shape(t)
		if n[k]++; n[k] == 1 {
			first = append(first, t)
		}
	}
	for i, t := range first {
		if more := n[shape(t)] - 1; more > 0 {
			first[i] = fmt.Sprintf("%s (and the like %d times more)", t, more)
		}
	}
	return first
}

// order says when the runs of two sides did not take turns, or ran at the same time.
func (c *comparison) order(a, b *side) []string {
	type turn struct {
		r   *run
		isB bool
	}
	var all []turn
	for _, r := range a.runs {
		all = append(all, turn{r, false})
	}
	for _, r := range b.runs {
		all = append(all, turn{r, true})
	}
	for _, t := range all {
		if t.r.started.IsZero() {
			return []string{"a tape does not say when it began: whether the runs took turns is not known"}
		}
	}
	slices.SortStableFunc(all, func(x, y turn) int { return x.r.started.Compare(y.r.started) })
	var out []string
	for i := 1; i < len(all); i++ {
		if before := all[i-1].r; all[i].r.started.Before(before.ended) {
			out = append(out, fmt.Sprintf("%s began before %s had ended: runs at the same time share the client, and perhaps the server", all[i].r.ref.Path, before.ref.Path))
			break
		}
	}
	na, nb := float64(len(a.runs)), float64(len(b.runs))
	var done [2]float64
	most := 0.0
	for _, t := range all {
		if t.isB {
			done[1] += 1 / nb
		} else {
			done[0] += 1 / na
		}
		most = max(most, math.Abs(done[1]-done[0]))
	}
	if len(all) > 2 && most > 2.01/min(na, nb) {
		out = append(out, "the runs of the two sides did not take turns: a drift of the machine or the server between them looks like a difference (tokentape run --repeat K --against … makes them take turns)")
	}
	return out
}

// load warns of failures: a failed request is in no latency, so a side that drops its
// slow ones looks fast.
func (c *comparison) load(a, b *side, p *Pair) []string {
	var out []string
	okA, failedA := a.ends()
	okB, failedB := b.ends()
	if failedA+failedB > 0 {
		out = append(out, fmt.Sprintf("failed requests are in no latency: %s %d of %d, %s %d of %d", a.name, failedA, okA+failedA, b.name, failedB, okB+failedB))
	}
	if m := p.Rows; m != nil && m.OnlyA+m.OnlyB+m.Foreign > 0 {
		out = append(out, fmt.Sprintf("not paired: %d rows on %s alone, %d on %s alone, %d whose dataset row differs", m.OnlyA, a.name, m.OnlyB, b.name, m.Foreign))
	}
	return out
}

// unlike lists what makes two sides answer different questions. What was asked comes
// first, then what was found.
func (c *comparison) unlike(a, b *side) []string {
	var out []string
	add := func(what string, of func(*run) string) {
		x, y := distinct(a, of), distinct(b, of)
		if x != y {
			out = append(out, fmt.Sprintf("%s: %s → %s", what, x, y))
		}
	}
	add("number of requests (N)", func(r *run) string { return fmt.Sprint(r.res.Load.Requests) })
	add("cap on requests in flight (C)", func(r *run) string {
		if r.res.Load.Concurrency == 0 {
			return "none"
		}
		return fmt.Sprint(r.res.Load.Concurrency)
	})
	add("offered rate (r)", func(r *run) string {
		if r.res.Load.RateAsked == nil {
			return "none"
		}
		return fmt.Sprintf("%g/s", *r.res.Load.RateAsked)
	})
	add("loop", func(r *run) string { return r.res.Load.Loop })
	add("plan", func(r *run) string { return short(r.res.About.PlanSHA256) })
	add("dataset", func(r *run) string { return short(r.res.About.DataSHA256) })
	add("model", func(r *run) string { return r.res.About.Model })
	add("devices", func(r *run) string { return fmt.Sprint(r.res.About.Devices) })
	add("client", func(r *run) string { return r.res.About.Host })
	add("tokentape", func(r *run) string { return r.res.About.Tool })
	add("preparation of the cache", func(r *run) string { return prepared(r) })
	add("source of output token counts", func(r *run) string {
		if s := c.window(r, c.kind).Metrics["output_tokens"]; s != nil && s.Source != "" {
			return s.Source
		}
		return "none"
	})
	if x, y := len(a.runs), len(b.runs); x != y {
		out = append(out, fmt.Sprintf("number of runs: %d → %d", x, y))
	}
	for _, m := range []struct{ name, what string }{
		{"cached_ratio", "cache state: share of input tokens that came from the prefix cache"},
		{"output_tokens.mean", "length of the answers, output tokens in the mean"},
		{"input_tokens.mean", "length of the prompts, input tokens in the mean"},
	} {
		n := parse(m.name)
		va, _ := c.collect(n, a)
		vb, _ := c.collect(n, b)
		x, y := values(va, true).Value, values(vb, true).Value
		switch {
		case x == nil && y == nil:
		case x == nil || y == nil:
			out = append(out, fmt.Sprintf("%s: observed on one side only (%s → %s)", m.what, number(x), number(y)))
		case math.Abs(*y-*x) > 0.01*max(1e-9, scaleOf(m.name, *x)):
			out = append(out, fmt.Sprintf("%s: %s → %s", m.what, number(x), number(y)))
		}
	}
	return out
}

// scaleOf is what 1 % of a difference refers to.
func scaleOf(name string, a float64) float64 {
	if name == "cached_ratio" {
		return 1
	}
	return math.Abs(a)
}

func number(v *float64) string {
	if v == nil {
		return "not observed"
	}
	return fmt.Sprintf("%.4g", *v)
}

func short(sum string) string { return sum[:min(12, len(sum))] }

// prepared is what the run was asked to do to the server's cache.
func prepared(r *run) string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(r.facts)) {
		if key, ok := strings.CutPrefix(p, "spec.prepare."); ok && r.facts[p] != "" && r.facts[p] != "0" {
			out = append(out, key+" "+r.facts[p])
		}
	}
	return strings.Join(out, ", ")
}

// distinct are the different values of a side's runs.
func distinct(s *side, of func(*run) string) string {
	var seen []string
	for _, r := range s.runs {
		if v := of(r); !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	slices.Sort(seen)
	return strings.Join(seen, " | ")
}
