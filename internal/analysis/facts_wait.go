package analysis

import "tokentape/tape"

// clientWait sums up how long bytes waited for the client, and its threads for a
// processor, over all samples.
func (r *run) clientWait(l *Load) {
	w, longest := r.waits(func(*tape.ClientSample) bool { return true })
	if w.n > 0 {
		l.ClientWaitReads = &w.n
		l.ClientWaitP50MS, l.ClientWaitP99MS = ref(float64(min(w.quantile(0.5), longest))/1e6), ref(float64(min(w.quantile(0.99), longest))/1e6)
		l.ClientWaitMaxMS = ref(float64(longest) / 1e6)
	}
	var delay, took, before int64
	delayed := false
	for _, s := range r.samples { // a sample is over the time since the one before
		if s.RunDelay.OK && s.T > before {
			delay, took, delayed = delay+s.RunDelay.V, took+s.T-before, true
		}
		before = s.T
	}
	if delayed && took > 0 && len(r.parts()) == 0 {
		l.RunDelay = ref(float64(delay) / float64(took))
	}
}

// waitCounts are reads by tape.WaitBucket.
type waitCounts struct {
	in [tape.WaitBuckets]int64
	n  int64
}

// waits are those of all samples of which of says so, together, and the longest one in
// ns. What no client writes, a bucket that does not exist or a count below 0, is left out.
func (r *run) waits(of func(*tape.ClientSample) bool) (w waitCounts, longest int64) {
	for i := range r.samples {
		s := &r.samples[i]
		if s.Wait == nil || !of(s) {
			continue
		}
		for _, pair := range s.Wait.Reads {
			if b, n := pair[0], pair[1]; b >= 0 && b < tape.WaitBuckets && n > 0 && n < 1<<40 {
				w.in[b] += n
				w.n += n
			}
		}
		longest = max(longest, s.Wait.Max)
	}
	return w, longest
}

// quantile is the upper edge of the bucket that the q-quantile falls into, in ns: at
// most a quarter more than the true one.
func (w *waitCounts) quantile(q float64) int64 {
	left := int64(q * float64(w.n))
	for b, n := range w.in {
		if left -= n; left < 0 {
			return tape.WaitEdge(b)
		}
	}
	return tape.WaitEdge(tape.WaitBuckets - 1)
}
