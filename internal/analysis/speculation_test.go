package analysis

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// Counts of speculation that cannot be true beside each other are named, and in no
// number; those that can be are in.
func TestSpeculationContradicted(t *testing.T) {
	type counts struct {
		accepted, rejected, drafted, verify int64 // -1: not told
		accepting                           []int64
	}
	// Every request has 20 output tokens.
	for _, tc := range []struct {
		name         string
		c            counts
		kind         string
		rate, length bool // still known
	}{
		{"all agree", counts{12, 12, 24, 8, []int64{2, 2, 2, 2}}, "", true, true},
		{"the last step ran over the end", counts{14, 18, 32, 8, nil}, "", true, true},
		{"accepted above proposed", counts{12, -1, 8, 8, nil}, metric.AcceptedAboveDrafted, false, true},
		{"not split", counts{12, 3, 24, 8, nil}, metric.DraftedNotSplit, false, true},
		{"more steps than tokens", counts{-1, -1, -1, 21, nil}, metric.VerifyAboveOutput, false, false},
		{"as many as tokens", counts{-1, -1, -1, 20, nil}, "", false, true},
		{"drafts and no step", counts{3, 3, 6, 0, nil}, metric.DraftsUnverified, true, false},
		{"neither drafts nor steps", counts{0, 0, 0, 0, nil}, "", false, false},
		{"list of other steps", counts{12, 12, 24, 8, []int64{2, 2, 2, 3}}, metric.StepsNotVerify, true, true},
		{"list of other drafts", counts{12, 12, 24, 8, []int64{1, 3, 2, 2}}, metric.StepsNotAccepted, true, true},
		{"absurd list", counts{-1, -1, -1, -1, []int64{1 << 53}}, metric.Absurd, false, false},
		{"absurd sum", counts{-1, -1, -1, -1, []int64{0, 9e8, 9e8}}, metric.Absurd, false, false},
		{"more than the output by far", counts{40, 0, 40, 8, nil}, metric.AcceptedAboveOutput, false, true},
		{"more than the output, by no step known", counts{63, 126, 189, -1, nil}, metric.AcceptedAboveOutput, false, false},
		{"a little more, by no step known", counts{22, 3, 25, -1, nil}, "", true, false},
		{"more with the steps", counts{24, 16, 40, 8, nil}, metric.AboveOutput, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := steadyRun(3)
			for _, q := range s.reqs {
				for _, x := range []struct {
					to *tape.Opt[int64]
					n  int64
				}{{&q.Tokens.Accepted, tc.c.accepted}, {&q.Tokens.Rejected, tc.c.rejected}, {&q.Tokens.Drafted, tc.c.drafted}, {&q.Tokens.Verify, tc.c.verify}} {
					if x.n >= 0 {
						*x.to = tape.Some(x.n)
					}
				}
				q.StepsAccepting = tc.c.accepting
			}
			r := s.analyse(t, Options{})
			w := r.Speculation.Windows[0]
			if rate, length := w.AcceptRate != nil && w.AcceptRate.Value != nil, w.AcceptLength != nil && w.AcceptLength.Value != nil; rate != tc.rate || length != tc.length {
				t.Errorf("rate %v, length %v", w.AcceptRate, w.AcceptLength)
			}
			c := check(t, r, "speculation")
			flagged := slices.Contains(r.Rows.At(0).Flags, "speculation_contradicted")
			if tc.kind == "" {
				if flagged || c.Value != nil {
					t.Errorf("flagged %v, check %+v", flagged, c)
				}
				return
			}
			if !flagged || c.Result != ResultMiss || !strings.Contains(c.Why, tc.kind+" in 3 answers (request 0: ") || *c.Value != 3 {
				t.Errorf("flagged %v, check %+v", flagged, c)
			}
			if tc.c.accepting != nil && w.Positions != nil {
				t.Errorf("positions of a list that cannot be true: %v", w.Positions)
			}
		})
	}
}

// Positions come of the list of steps alone; the share at a position is of all steps.
func TestDraftPositions(t *testing.T) {
	s := steadyRun(2)
	s.reqs[0].StepsAccepting = []int64{11, 14, 11, 4, 0, 3}
	s.reqs[1].StepsAccepting = []int64{1}
	w := s.analyse(t, Options{}).Speculation.Windows[0]
	var got []int64
	for i, p := range w.Positions {
		if p.Steps != 44 || p.Position != int64(i+1) {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Accepted)
	}
	if !slices.Equal(got, []int64{32, 18, 7, 3, 3}) || w.PositionsN != 2 {
		t.Errorf("%v of %d", got, w.PositionsN)
	}
}

// Output that no counted step made, and events that are no steps, are said.
func TestSpeculationBesideTheStream(t *testing.T) {
	s := steadyRun(4)
	for _, q := range s.reqs {
		q.Tokens.Accepted, q.Tokens.Verify = tape.Some[int64](4), tape.Some[int64](4) // 20 tokens: 11 of no step
	}
	r := s.analyse(t, Options{})
	c := check(t, r, "speculation")
	if c.Result != ResultMiss || !strings.Contains(c.Why, "44 of 80 output tokens are neither an accepted draft nor of a verify step") || c.Value != nil {
		t.Errorf("%+v", c)
	}
	w := r.Speculation.Windows[0]
	if *w.Uncounted.Value != 0.55 || w.AcceptRate != nil || *w.AcceptLength.Value != 5 {
		t.Errorf("%+v", w)
	}
	var gaps []string
	for _, g := range r.Speculation.NotObserved {
		gaps = append(gaps, g.What)
		if g.Why == "" || g.Do == "" {
			t.Errorf("%+v", g)
		}
	}
	if !slices.Equal(gaps, []string{GapRate, GapPositions}) {
		t.Errorf("%v", gaps)
	}
}

// Whatever a tape says of speculation, ratios are of the two counts that they are
// defined by, a rate is a share, and nothing overflows.
func TestSpeculationHolds(t *testing.T) {
	opt := rapid.Custom(func(t *rapid.T) tape.Opt[int64] {
		if rapid.Bool().Draw(t, "told") {
			return tape.Some(rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, 1<<53)).Draw(t, "n"))
		}
		return tape.Opt[int64]{}
	})
	rapid.Check(t, func(rt *rapid.T) {
		s := steadyRun(3)
		for _, q := range s.reqs {
			q.Tokens.Accepted, q.Tokens.Rejected = opt.Draw(rt, "accepted"), opt.Draw(rt, "rejected")
			q.Tokens.Drafted, q.Tokens.Verify = opt.Draw(rt, "drafted"), opt.Draw(rt, "verify")
			q.StepsAccepting = rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<53)), 0, 4).Draw(rt, "steps")
		}
		r := s.analyse(t, Options{NoCI: true, Windows: []string{"whole"}})
		w := r.Speculation.Windows[0]
		if x := w.AcceptRate; x != nil && x.Value != nil && !(*x.Value >= 0 && *x.Value <= 1) {
			rt.Fatalf("rate %+v", x)
		}
		if x := w.AcceptLength; x != nil && x.Value != nil && (*x.Value < 1 || x.Over != 20*x.N) {
			rt.Fatalf("length %+v", x)
		}
		for i, p := range w.Positions {
			if p.Share < 0 || p.Share > 1 || i > 0 && p.Accepted > w.Positions[i-1].Accepted {
				rt.Fatalf("positions %+v", w.Positions)
			}
		}
		if (w.AcceptLength == nil || w.AcceptLength.Value == nil) != slices.ContainsFunc(r.Speculation.NotObserved, func(g SpeculationGap) bool { return g.What == GapLength }) {
			rt.Fatalf("%+v, missing %+v", w.AcceptLength, r.Speculation.NotObserved)
		}
	})
}
