package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/search"
	"tokentape/internal/search/evidence"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
)

// paramsOf is what the section search of a spec asks for.
func paramsOf(s *spec.Spec) search.Params {
	w := s.Search
	p := search.Params{
		For: w.For, Goal: w.Goal, From: w.From, To: w.To, Precision: w.Precision, Share: w.Share,
		MostLooks: int(w.MostLooks), AtMostS: w.AtMost.D().Seconds(), DurationS: s.Load.Duration.D().Seconds(),
		Ramp: w.Ramp > 0, Seed: s.Seeds.Run,
	}
	if s.Load.Requests > 0 && (s.Load.Duration == 0 || s.Load.Requests > 1) {
		p.Requests = s.Load.Requests
	}
	if len(requestLimits(s)) == 0 || w.Goal == search.Goodput {
		p.Share = 0
	}
	return p
}

// requestLimits are those of report.slo, and of search.slo on requests.
func requestLimits(s *spec.Spec) map[string]float64 {
	l := s.Report.SLO
	out := map[string]float64{"ttft_ms": l.TTFT, "ttft_from_due_ms": l.TTFTFromDue, "tpot_ms": l.TPOT, "itl_ms": l.ITL, "e2e_ms": l.E2E, "e2e_from_due_ms": l.E2EFromDue}
	for name, v := range out {
		if v == 0 {
			delete(out, name)
		}
	}
	for _, text := range s.Search.SLO {
		if c, err := catalog.Parse(text); err == nil && c.PerRequest() && c.Number != nil {
			out[c.Name] = *c.Number
		}
	}
	return out
}

// strict are the limits on requests that search.slo gives with <; report.slo has none.
func strict(s *spec.Spec) map[string]bool {
	out := map[string]bool{}
	for _, text := range s.Search.SLO {
		if c, err := catalog.Parse(text); err == nil && c.PerRequest() && c.Op == "<" {
			out[c.Name] = true
		}
	}
	return out
}

// limitsOf are all limits as texts, as they were given.
func limitsOf(s *spec.Spec) []string {
	out, below := []string{}, strict(s)
	for name, v := range requestLimits(s) {
		op := "<="
		if below[name] {
			op = "<"
		}
		out = append(out, fmt.Sprintf("%s %s %g of a request", name, op, v))
	}
	slices.Sort(out)
	for _, c := range s.Search.Conditions() {
		out = append(out, c.Text)
	}
	return out
}

func (q *quest) ask() evidence.Ask {
	w := q.base.Search
	return evidence.Ask{Limits: requestLimits(q.base), Share: w.Share, Conditions: w.Conditions(), FailedShare: q.base.Limits.FailedShare, Goodput: w.Goal == search.Goodput, For: w.For, Below: strict(q.base)}
}

// unitsAhead is how many declared lengths a search is reckoned to take, for each look
// that it may make: most are short or single ones, a few longer.
const unitsAhead = 1.5

// check refuses what cannot be decided, or cannot be sent, before anything is.
func (q *quest) check() error {
	p, w := q.file.Asked, q.base.Search
	need := int64(0)
	if p.Share > 0 {
		need = p.Least(p.Share)
	}
	for _, c := range w.Conditions() {
		if share, ok := evidence.ShareOf(c); ok {
			need = max(need, p.Least(share))
		}
	}
	have := float64(p.Requests)
	if byTime := p.To * p.DurationS; p.For == search.Rate && p.DurationS > 0 && (have == 0 || byTime < have) {
		have = byTime
	}
	if have > 0 && have < float64(need) {
		return usageError(fmt.Sprintf("a look of %.0f requests can prove nothing: with %d looks it takes %d, all of them good, to show that the required share holds", have, p.MostLooks, need),
			fmt.Sprintf("longer looks, several times that: --requests %d", 10*need), "fewer looks (--most-looks), or a lower share")
	}
	t, err := q.try(q.base.LookSets(spec.LookAt{At: p.From, Times: 1, Seed: p.Seed}))
	if err != nil {
		return err
	}
	if !q.distinct() || t.need < 0 {
		return nil
	}
	if all := int64(float64(t.need) * unitsAhead * float64(p.MostLooks)); all > t.rows {
		return q.tooFew(&sweep.Short{Needed: all, Have: t.rows}, t.sets)
	}
	return nil
}

// look makes one run. fault says why there is none: search.EndRows, EndInterrupted or
// EndRun.
func (q *quest) look(ctx context.Context, step search.Step) (l *search.Look, fault string, err error) {
	p, n := q.file.Asked, len(q.file.Looks)+1
	seed := p.SeedOf(len(q.m.Points) + 1) // of looks that were cut, too
	at := spec.LookAt{At: step.At, Times: step.Times, Seed: seed}
	var stages []float64
	where := fmt.Sprintf("look %d of at most %d · %s · %s", n, p.MostLooks, step.Kind, p.Load(step.At))
	name := fmt.Sprintf("%02d-%c%.5g", n, p.For[0], step.At)
	if step.Kind == search.KindRamp {
		stages = p.RampStages()
		at.Ramp = stages
		where = fmt.Sprintf("look %d · ramp · from %.4g to %s", n, p.From, p.Load(p.To))
		name = fmt.Sprintf("%02d-ramp", n)
	}
	sets := q.base.LookSets(at)
	t, err := q.try(sets)
	if err != nil {
		return nil, "", err
	}
	repeat := 1
	for _, pt := range q.m.Points {
		if pt.At[0] == any(step.At) {
			repeat++
		}
	}
	i, err := q.add(sweep.Place{Point: sweep.Point{Name: name, At: []any{step.At}, Repeat: repeat, State: sweep.NotRun}, Sets: sets}, t)
	var short *sweep.Short
	if errors.As(err, &short) {
		return nil, search.EndRows, nil
	} else if err != nil {
		return nil, "", err
	}
	if stages != nil {
		each := q.base.Search.Ramp.D().Seconds() / float64(len(stages))
		q.o.watch = func(path string, clk *clock.Clock, cfg *run.Config, log *runLog) {
			q.watchRamp(path, clk, cfg, log, stages, each)
		}
		defer func() { q.o.watch = nil }()
	}
	e, err := q.series.run(ctx, i, where)
	if err != nil {
		return nil, "", err
	}
	switch {
	case e.code == exitInterrupted:
		return nil, search.EndInterrupted, nil
	case e.res == nil || e.dir == "" || !slices.Contains(goOn, e.code) && e.code != exitNothing:
		return nil, search.EndRun, nil
	}
	l = &search.Look{Step: step, Seed: seed, Run: q.m.Points[i].Run, Exit: e.code, Requests: e.res.Counts.OK + e.res.Counts.Failed, TookS: e.took.Seconds(), OtherWork: evidence.OtherWork(e.res)}
	if stages != nil {
		l.Client, l.Unfit = q.ask().Usable(e.res)
		l.Stages = evidence.Stages(e.res, q.ask(), stages, q.base.Search.Ramp.D().Seconds()/float64(len(stages)))
		pt := &q.m.Points[i] // its load climbs: it is at no place of a curve
		pt.State, pt.Run, pt.Reason = sweep.Failed, "", fmt.Sprintf("a ramp from %g to %g, at no load of its own: %s", p.From, p.To, l.Run)
		return l, "", q.write()
	}
	l.Facts, l.Client, l.Unfit = evidence.Of(e.res, q.ask(), step.At)
	return l, "", nil
}

// watchRamp ends a ramp as soon as a stage shows by its point that the limit broke. Like
// any judgement it reads the tape as far as it has been written.
func (q *quest) watchRamp(path string, clk *clock.Clock, cfg *run.Config, log *runLog, stages []float64, each float64) {
	enough := make(chan string, 1)
	cfg.Enough = enough
	p, ask := q.file.Asked, q.ask()
	cfg.Samplers = append(cfg.Samplers, func(ctx context.Context, _ func() run.Gauges, _ func(any)) {
		for i := range stages {
			// A second after its end most of a stage is on the tape.
			at := time.Duration((float64(i+1)*each + 1) * float64(time.Second))
			if clk.SleepUntil(ctx, int64(at)) != nil || ctx.Err() != nil {
				return
			}
			res, err := analyse(path, analysis.Options{}, "")
			if err != nil {
				continue
			}
			s := evidence.Stages(res, ask, stages, each)[i]
			log.say("ramp", "%s: %d of %d requests were good", p.Load(s.At), s.Good, s.N)
			if p.Broke(s) {
				enough <- fmt.Sprintf("the limits broke at %s: %d of %d requests were good", p.Load(s.At), s.Good, s.N)
				return
			}
		}
	})
}
