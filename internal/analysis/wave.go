package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
)

// Wave is the start-up of a load with a cap: the first C requests, which meet an
// empty server all at once, apart from the rest.
type Wave struct {
	Requests  int64    `json:"requests"` // ok among the first C measured ones by release
	TTFTMean  *float64 `json:"ttft_mean_ms"`
	RestMean  *float64 `json:"rest_ttft_mean_ms"`
	Share     float64  `json:"share"`      // of the ok requests with a TTFT
	TailShare float64  `json:"tail_share"` // of those at or above the P95 of TTFT, over the whole run
	TailN     int64    `json:"tail_n"`
	Note      string   `json:"note"`
}

// wave is nil where there is no cap, no streamed answer, or nothing but the wave.
func (r *run) wave() *Wave {
	c := r.spec.Load.Concurrency
	if c <= 1 || r.untimed() {
		return nil
	}
	firsts := map[int]bool{}
	for g := range r.groups {
		r.firstReleased(g, firsts)
	}
	type sample struct {
		v    float64
		wave int // 1: of the wave
	}
	var all []sample
	var xs []float64
	var sums [2]stat.Acc
	var n [2]int64
	r.eachMeasured(func(i int, q *metric.Request) {
		v, ok := ms((*metric.Request).TTFT)(q)
		if !ok || !q.OK {
			return
		}
		k := 0
		if firsts[i] {
			k = 1
		}
		all, xs = append(all, sample{v, k}), append(xs, v)
		sums[k].Add(v)
		n[k]++
	})
	if n[0] == 0 || n[1] == 0 {
		return nil
	}
	p95 := *quantile(xs, 0.95)
	w := &Wave{Requests: n[1], TTFTMean: ref(sums[1].Sum() / float64(n[1])), RestMean: ref(sums[0].Sum() / float64(n[0])), Share: float64(n[1]) / float64(len(all))}
	var in int64
	for _, s := range all {
		if s.v >= p95 {
			w.TailN++
			in += int64(s.wave)
		}
	}
	if w.TailN > 0 {
		w.TailShare = float64(in) / float64(w.TailN)
	}
	w.Note = fmt.Sprintf("start-up wave: the first %s (%s of all, as many as the cap of %d lets out at once) have a mean TTFT of %s ms, the rest %s ms; %d of the %d at or above P95 of TTFT in the whole run are theirs",
		plural(n[1], "request"), percent(w.Share), c, digits(*w.TTFTMean), digits(*w.RestMean), in, w.TailN)
	return w
}

// waveSlower is how many times the rest's mean TTFT that of the wave has to be for a
// note: less would be found among any C requests.
const waveSlower = 1.1

// worth reports whether the wave deserves a note of the run: it has more than
// twice its share of the slowest first tokens, and is plainly slower than the rest.
func (w *Wave) worth() bool {
	return w != nil && w.TailShare > 2*w.Share && *w.TTFTMean >= waveSlower**w.RestMean
}

// firstReleased adds the measured requests of a group that its cap let out first, by
// index.
func (r *run) firstReleased(g int, firsts map[int]bool) {
	var order []int
	for i := r.groups[g].From; i < r.groups[g].To; i++ {
		if r.isMeasured(i) && r.reqs[i].Released != metric.Absent {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.reqs[a].Released, r.reqs[b].Released) })
	for _, i := range order[:min(int(r.groups[g].Load.Concurrency), len(order))] {
		firsts[i] = true
	}
}
