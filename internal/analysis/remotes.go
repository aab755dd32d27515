package analysis

import (
	"cmp"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// Remote is what one address did with the measured requests whose last attempt
// went there. A dead address shows as failures without connections.
type Remote struct {
	Address     string `json:"address"`
	Requests    int64  `json:"requests"`
	OK          int64  `json:"ok"`
	Failed      int64  `json:"failed"`
	Cancelled   int64  `json:"cancelled"`
	Abandoned   int64  `json:"abandoned"`
	Connections int64  `json:"connections"`
}

// remotes are the addresses by name; requests that reached none are not among
// them.
func (r *run) remotes() []Remote {
	of := map[string]*Remote{}
	conns := map[int64]bool{}
	r.eachMeasured(func(i int, _ *metric.Request) {
		f := &r.facts[i]
		if f.remote == "" {
			return
		}
		m := of[f.remote]
		if m == nil {
			m = &Remote{Address: f.remote}
			of[f.remote] = m
		}
		m.Requests++
		switch f.outcome {
		case tape.OutcomeOK:
			m.OK++
		case tape.OutcomeCancelled:
			m.Cancelled++
		case tape.OutcomeAbandoned:
			m.Abandoned++
		default:
			m.Failed++
		}
		if f.connID > 0 && !conns[f.connID] {
			conns[f.connID] = true
			m.Connections++
		}
	})
	var out []Remote
	for _, m := range of {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Remote) int { return cmp.Compare(a.Address, b.Address) })
	return out
}
