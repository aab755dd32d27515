package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
)

// exactGaps is how many ITL gaps are kept one by one; beyond it a histogram
// takes them.
const exactGaps = 10_000_000

// itl pools the gaps of the cohort. Gaps of one request hang together far more
// than requests do, so its effective size and its intervals are reckoned in
// requests: n_eff is the variance of the gaps ÷ the squared standard error of
// their mean.
func (r *run) itl(cohort []int, by *stat.Sections) *Summary {
	most := r.gaps(cohort)
	per := 1.0
	if len(cohort) > 0 {
		per = max(1, float64(most)/float64(len(cohort)))
	}
	if !r.look([][]int{cohort}, nil) {
		return summary(stat.Description{}, per)
	}
	if h := r.later.pool(cohort).gaps; h != nil {
		s := summary(h.Describe(1e6), per)
		s.Warnings = append(s.Warnings, fmt.Sprintf("percentiles are from a histogram with at most 0.1 %% error: %s gaps are above the limit of %s; no interval", thousands(h.N()), thousands(r.exact)))
		return s
	}
	xs := make([]float64, 0, most)
	ends := make([]int, len(cohort)) // of each request's gaps in xs
	var s metric.Stream
	for k, i := range cohort {
		s.Load(&r.reqs[i])
		for _, gap := range s.Gaps() {
			xs = append(xs, float64(gap)/1e6)
		}
		ends[k] = len(xs)
	}
	if by != nil {
		per = 1 // what it would take is reckoned in requests
	}
	return summary(stat.DescribePooled(xs, ends, by), per)
}

// gaps is the number of gaps that the cohort can have at most: all but the first
// token event of each request.
func (r *run) gaps(cohort []int) int64 {
	var most int64
	for _, i := range cohort {
		most += max(0, r.reqs[i].TokenEvents-1)
	}
	return most
}

// itlStats are mean and largest gap of one request in milliseconds.
func itlStats(q *metric.Request) (mean, top *float64) {
	n, sum, most, ok := q.ITL()
	if !ok {
		return nil, nil
	}
	m, t := float64(sum)/float64(n)/1e6, float64(most)/1e6
	return &m, &t
}
