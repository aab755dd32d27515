package curve

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/compare"
)

// Undecided is one reason for which deciding metrics are undecided.
type Undecided struct {
	Why string   `json:"why"`
	Of  []string `json:"of"` // "ttft_ms.p50 at c=2, c=4"
	Do  string   `json:"do,omitempty"`
}

// undecided gathers why deciding metrics are, by reason, and what would decide them.
func (o *Comparison) undecided() {
	o.Open = nil
	type place struct{ why, metric string }
	at := map[place][]string{}
	for _, name := range o.On {
		for i := range o.Pairs {
			p := &o.Pairs[i]
			if p.Of == nil {
				continue
			}
			for k := range p.Of.Pairs[0].Metrics {
				m := &p.Of.Pairs[0].Metrics[k]
				if m.Name != name || !m.Decides || m.Verdict != compare.Undecided || m.Why == "" {
					continue
				}
				if !slices.ContainsFunc(o.Open, func(u Undecided) bool { return u.Why == m.Why }) {
					o.Open = append(o.Open, Undecided{Why: m.Why, Do: decides(m)})
				}
				at[place{m.Why, name}] = append(at[place{m.Why, name}], p.Label)
			}
		}
	}
	for i := range o.Open {
		u := &o.Open[i]
		for _, name := range o.On {
			points := at[place{u.Why, name}]
			switch {
			case len(points) == 0:
			case len(points) == len(o.Pairs):
				u.Of = append(u.Of, name+" at every point")
			default:
				u.Of = append(u.Of, name+" at "+list(points))
			}
		}
	}
}

// decides says what would decide a metric that is undecided; "" where nothing would.
func decides(m *compare.Metric) string {
	switch {
	case strings.HasPrefix(m.Why, "not observed"):
		return ""
	case m.P == nil:
		return "more requests a point (--each), or more runs of each (tokentape sweep FOLDER --add --repeats 5, of both sweeps)"
	}
	return fmt.Sprintf("more requests a point (--each), or more runs of each (--repeats), for a narrower interval; or a --tolerance above %.3g %%, where so much does not matter", m.Tolerance*100)
}
