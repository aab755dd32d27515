package run

import "tokentape/internal/exchange"

// Abandon is cancellation as a workload: a share of the requests, of all phases,
// is closed in the middle. Which ones is drawn by the plan's row alone, so that
// the same plan and seed abandon the same rows.
type Abandon struct {
	Share float64 // 0 to 1
	When  exchange.Abandon
	Seed  int64
}

// of is what is asked of the row with that number.
func (a *Abandon) of(seq int64) exchange.Abandon {
	if a.Share > 0 && draw("abandon", a.Seed, seq) < a.Share {
		return a.When
	}
	return exchange.Abandon{}
}
