package analysis

import (
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// speculation is the evidence of the windows that are shown, and what is missing.
func (r *run) speculation(intervals []window.Interval) *Speculation {
	s := &Speculation{Windows: []SpeculationWindow{}}
	for _, w := range intervals {
		if w.OK {
			s.Windows = append(s.Windows, r.speculationIn(w))
		}
	}
	all := r.drafts()
	switch {
	case all.Rate.N == 0:
	case all.Drafted.N > 0:
		s.DraftsBy = DraftsEngine
	default:
		s.DraftsBy = DraftsUsage
	}
	s.NotObserved = r.draftGaps(all)
	s.Untold = r.untoldDrafts(all)
	return s
}

// tokensAnEvent is above what one-token events with a few joined ones come to.
const tokensAnEvent = 1.2

// untoldDrafts is for a stream of several tokens an event of which the server told no
// drafts: one cannot see whether it speculates or sends at intervals, and either makes
// the gaps between events longer than the time of a token.
func (r *run) untoldDrafts(all *metric.Speculation) *SpeculationGap {
	v, ok := all.PerEvent.Value()
	if !ok || v < tokensAnEvent || max(all.Verify.N, all.Accepted.N, all.Rejected.N, all.Drafted.N, all.Listed) > 0 {
		return nil
	}
	return &SpeculationGap{digits(v) + " tokens per event", "ITL is of events, TPOT of tokens; acceptance not observed", r.tellDrafts(GapLength)}
}

// drafts sums up the ok requests of the measured phase.
func (r *run) drafts() *metric.Speculation {
	var s metric.Speculation
	r.okMeasured(func(q *metric.Request) { s.Add(q) })
	return &s
}

func (r *run) speculationIn(w window.Interval) SpeculationWindow {
	var s metric.Speculation
	said := map[string][]float64{}
	for _, i := range w.Cohort {
		q := &r.reqs[i]
		s.Add(q)
		if q.Drafts != nil {
			for name, v := range q.Drafts.Said {
				said[name] = append(said[name], v)
			}
		}
	}
	out := SpeculationWindow{
		Window: w.Kind, Requests: int64(len(w.Cohort)),
		VerifySteps: sumOf(s.Verify), Accepted: sumOf(s.Accepted), Rejected: sumOf(s.Rejected), Drafted: sumOf(s.Drafted),
		AcceptLength: ratioOf(s.Length), AcceptRate: ratioOf(s.Rate), PerEvent: ratioOf(s.PerEvent),
		EventsPerStep: ratioOf(s.EventsPerStep), Uncounted: ratioOf(s.Uncounted), PositionsN: s.Listed,
	}
	for i, p := range s.Positions() {
		out.Positions = append(out.Positions, DraftPosition{int64(i + 1), p.Accepted, p.Steps, float64(p.Accepted) / float64(p.Steps)})
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		xs := said[name]
		var sum stat.Acc
		for _, x := range xs {
			sum.Add(x)
		}
		out.Engine = append(out.Engine, EngineRatio{name, int64(len(xs)), sum.Sum() / float64(len(xs)), slices.Min(xs), slices.Max(xs)})
	}
	return out
}

// draftRow fills what a row says of speculation.
func (r *run) draftRow(q *metric.Request, row *Row) {
	row.Accepted, row.Rejected, row.Drafted, row.VerifySteps = known(q.Accepted), known(q.Rejected), known(q.Drafted), known(q.Verify)
	for _, x := range []struct {
		to *(*float64)
		of func() (float64, bool)
	}{{&row.AcceptLength, q.AcceptLength}, {&row.AcceptRate, q.AcceptRate}, {&row.TokensPerEvent, q.TokensPerEvent}} {
		if v, ok := x.of(); ok {
			*x.to = &v
		}
	}
	if q.Drafts == nil {
		return
	}
	row.StepsAccepting = q.Drafts.Accepting
	if len(q.Drafts.Contradicts) > 0 { // why counts that the tape holds are missing here
		row.Flags = append(slices.Clip(row.Flags), speculationContradicted+"_contradicted")
	}
}

func sumOf(s metric.Sum) *SpeculationSum {
	if s.N == 0 {
		return nil
	}
	return &SpeculationSum{s.Total, s.N}
}

func ratioOf(r metric.Ratio) *SpeculationRatio {
	if r.N == 0 {
		return nil
	}
	out := &SpeculationRatio{nil, r.Over, r.Under, r.N}
	if v, ok := r.Value(); ok {
		out.Value = &v
	}
	return out
}

// draftGaps are the numbers that the run cannot have.
func (r *run) draftGaps(s *metric.Speculation) []SpeculationGap {
	var gaps []SpeculationGap
	add := func(what, why string) { gaps = append(gaps, SpeculationGap{what, why, r.tellDrafts(what)}) }
	if _, ok := s.Rate.Value(); !ok {
		switch {
		case s.Rate.N > 0:
			add(GapRate, "no draft was proposed: 0 accepted and 0 rejected, as servers without speculation send them too")
		case s.Accepted.N > 0:
			add(GapRate, "it needs accepted and rejected drafts; the server told the accepted ones alone")
		case s.Verify.N > 0:
			add(GapRate, "it needs accepted and rejected drafts; the server told neither, and verify steps are no denominator for it")
		default:
			add(GapRate, "it needs accepted and rejected drafts; the server told neither")
		}
	}
	if _, ok := s.Length.Value(); !ok {
		switch {
		case s.Length.N > 0:
			add(GapLength, "the server made no verify step")
		case s.Verify.N > 0:
			add(GapLength, "it needs output tokens beside verify steps; no request has both")
		case s.Accepted.N > 0:
			add(GapLength, "it needs verify steps; the server told none, and drafts or token events are no denominator for it")
		default:
			add(GapLength, "it needs verify steps; the server told none, and token events are no denominator for it")
		}
	}
	if s.Listed == 0 {
		add(GapPositions, "it needs verify steps by accepted drafts; the server told none")
	}
	return gaps
}

// tellDrafts says what would make it observable, of this API and engine.
func (r *run) tellDrafts(what string) string {
	const metrics = "the engine's metrics endpoint may have it for the whole server"
	api, engine := r.spec.Target.API, strings.ToLower(r.header.Server.Engine)
	openai := strings.HasPrefix(api, "openai-c")
	sglang := "set workload.sampling.return_spec_tokens_details=true (SGLang since August 2026), or target.api sglang-generate"
	vllm := "start vLLM with --per-request-spec-decode-metrics summary (since August 2026)"
	switch {
	case api == "sglang-generate":
		if what == GapLength {
			return "SGLang tells it where it runs with --speculative-algorithm"
		}
		return "newer SGLang tells it where it runs with --speculative-algorithm; " + metrics
	case openai && strings.Contains(engine, "sglang"):
		return sglang
	case openai && strings.Contains(engine, "vllm"):
		return vllm
	case api == "llamacpp", openai && strings.Contains(engine, "llama"):
		if what == GapRate {
			return "llama-server tells it where it runs with a draft model"
		}
		return "llama-server tells it in its log alone"
	case openai:
		return "of SGLang: " + strings.TrimPrefix(sglang, "set ") + "; of vLLM: " + strings.TrimPrefix(vllm, "start vLLM with ") + "; see docs/howto/speculation.md"
	}
	return "this API has no place for it; " + metrics
}
