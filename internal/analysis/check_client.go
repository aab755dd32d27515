package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// Limits of the client's own health.
const (
	lagFloorMS   = 1.0  // pacer lag p99: this or lagShare of the mean gap, whichever is larger
	lagShare     = 0.1  //
	grossFloorMS = 5.0  // where bytes were read in time: this or the mean gap, whichever is larger
	cpuShare     = 0.9  // of all cores, in the mean
	waitMS       = 2.0  // client wait p99, over at least waitReads reads
	waitShort    = 1e6  // ns: up to which bytes were read in time
	waitReads    = 100  //
	schedMS      = 10.0 // goroutine scheduling latency p99, median over the samples
	delayThreads = 0.5  // threads that had no processor, beside other evidence
	rateShort    = 0.01 // offered_rate: share by which sends may fall behind
	rateShortMS  = 1.0  // and the time by which they must have fallen behind to count
)

// clientBound: the client itself made the numbers. It needs evidence about the
// client: pacer lag, client wait, scheduling latency, CPU, the recorder. Bursts of output are
// none: they are the server's or a proxy's.
//
// Pacer lag is judged over measured requests; in a closed loop without those of
// the start, which are all due at once and where only the order is ours. One
// late send alone is no pattern, whatever p99 of a small run says: it is named and
// not counted.
//
// Client wait looks at the stamps themselves. Where it shows that bytes were read in
// time, late sends alone did not make the numbers of an open loop unless they were
// grossly late: what is below that is send_delay's. In a closed loop each late send
// keeps a slot empty, and throughput is what it was.
func (r *run) clientBound(res *Results, late lateness) Check {
	c := Check{Name: "client_bound", Severity: SeverityFail, Result: ResultNone, Unit: "ms", Why: "no pacer lag and no client samples on the tape",
		Do: "use a faster or quieter client machine, or a lower load.rate or load.concurrency; tokentape doctor says what this host can carry"}
	var evidence, seen []string
	if late.p99 != nil {
		c.Value, c.Limit = late.p99, &late.limit
		if late.bound {
			evidence = append(evidence, late.word)
		}
		seen = append(seen, late.word)
	}
	if cpu, cores := res.Load.CPUMean, float64(r.header.Host.CPUs); cpu != nil && cores > 0 {
		word := fmt.Sprintf("client CPU %.2f of %.0f cores (limit %.2f)", *cpu, cores, cpuShare*cores)
		if *cpu > cpuShare*cores {
			evidence = append(evidence, word)
		}
		seen = append(seen, word)
	}
	if word, over := clientWaited(res); word != "" {
		if over {
			evidence = append(evidence, word)
		}
		if !late.beside { // which has named it
			seen = append(seen, word)
		}
	}
	if p99 := res.Load.SchedP99MS; p99 != nil {
		word := fmt.Sprintf("scheduling latency p99 %s ms (limit %.0f ms)", digits(*p99), schedMS)
		if *p99 > schedMS {
			evidence = append(evidence, word)
		}
		seen = append(seen, word)
	}
	if r.footer != nil && r.footer.Reason == tape.ReasonRecorder {
		evidence = append(evidence, "the recorder could not keep up")
	}
	if busy, own := r.hostBusy(), res.Load.CPUMean; len(evidence) > 0 && busy != nil && own != nil && *busy-*own > 0.5*float64(r.header.Host.CPUs) {
		evidence = append(evidence, fmt.Sprintf(OtherWork+": %.2f cores, beside tokentape's %.2f (it may use %d)", *busy-*own, *own, r.header.Host.CPUs))
		c.Do = "end what else runs here; tokentape doctor says what this host can carry"
	}
	if d := res.Load.RunDelay; len(evidence) > 0 && d != nil && *d > delayThreads {
		evidence = append(evidence, fmt.Sprintf("%s of its threads, in the mean, were ready and had no processor", digits(*d)))
	}
	switch {
	case len(evidence) > 0:
		c.Result, c.Why = ResultMiss, join(evidence, "; ")
	case len(seen) > 0:
		if late.p99 == nil && late.word != "" {
			seen = append(seen, late.word)
		}
		c.Result, c.Why = ResultPass, join(seen, "; ")
	case late.word != "":
		c.Why = late.word + "; no client samples on the tape"
	}
	return c
}

// lateness is what pacer lag says of the client.
type lateness struct {
	p99   *float64 // ms; nil: there is no lag to judge
	limit float64  // ms: from which it is evidence of client_bound
	usual float64  // ms: the same where nobody knows whether bytes were read in time
	word  string   // without p99: why there is none to judge, "" where nothing has a lag
	bound bool     // it is such evidence
	// beside: over the usual limit by two sends or more, and no evidence, since bytes
	// were read in time. The word names client wait, too.
	beside bool
}

// lateness judges the lags of the run.
func (r *run) lateness(res *Results) (l lateness) {
	lags, gap, ok := r.lags()
	p99 := quantile(lags, 0.99)
	if n := r.countLags(); p99 == nil && n > 0 { // each was skipped as one of the start
		l.word = fmt.Sprintf("pacer lag is not judged: all measured sends (%s) are of the start, due at once", thousands(int64(n)))
	}
	if p99 == nil || !ok {
		return l
	}
	l.p99, l.usual = p99, max(lagFloorMS, lagShare*gap)
	l.limit = l.usual
	of, after := "", ""
	if l.usual > lagFloorMS {
		of = fmt.Sprintf(", %g %% of the mean gap between sends", 100*lagShare)
	}
	if !r.open() && r.countLags() > len(lags) { // the load's own row counts these, too
		after = "after the start "
	}
	over := func(limit float64) (n int) {
		for _, lag := range lags {
			if lag > limit {
				n++
			}
		}
		return n
	}
	lag := fmt.Sprintf("pacer lag p99 %s%s ms", after, digits(*p99))
	l.word = fmt.Sprintf("%s (limit %s ms%s)", lag, digits(l.usual), of)
	switch {
	case *p99 <= l.usual:
		return l
	case over(l.usual) < 2:
		l.word += fmt.Sprintf(": 1 late send of %s, not counted", thousands(int64(len(lags))))
		return l
	case !r.open() || !r.readInTime(): // in a closed loop late sends hold the load itself up
		l.bound = true
		return l
	}
	if l.limit = max(grossFloorMS, gap); *p99 > l.limit && over(l.limit) >= 2 {
		if of = ""; l.limit > grossFloorMS {
			of = "the mean gap between sends, "
		}
		l.bound, l.word = true, fmt.Sprintf("%s (limit %s ms, %swhere bytes are read in time)", lag, digits(l.limit), of)
		return l
	}
	wait, _ := clientWaited(res)
	l.beside, l.word = true, fmt.Sprintf("%s is over %s ms%s: sends were late, but what came was read in time: %s", lag, digits(l.usual), of, wait)
	return l
}

// countLags is how many measured requests have a pacer lag.
func (r *run) countLags() (n int) {
	r.eachMeasured(func(_ int, q *metric.Request) {
		if q.PacerLag != metric.Absent {
			n++
		}
	})
	return n
}

// clientWaited says how long bytes waited for the client, "" where too few reads were
// looked at; over: longer than a client that keeps up lets them. It is the only direct
// evidence of late stamps, and a lower bound of their error.
func clientWaited(res *Results) (word string, over bool) {
	l := res.Load
	if l.ClientWaitP99MS == nil || *l.ClientWaitReads < waitReads {
		return "", false
	}
	return fmt.Sprintf("client wait p99 %s ms (limit %.0f ms)", digits(*l.ClientWaitP99MS), waitMS), *l.ClientWaitP99MS > waitMS
}

// readInTime reports whether client wait was observed, of a merged tape in each of its
// runs, and was short: then the stamps are those of the arrivals. A wait in the bucket
// that holds the limit may be below it, and counts as that.
func (r *run) readInTime() bool {
	for part := range int64(max(1, len(r.parts()))) {
		w, _ := r.waits(func(s *tape.ClientSample) bool { return s.Part.Or(0) == part })
		if w.n < waitReads || w.quantile(0.99) > tape.WaitEdge(tape.WaitBucket(waitShort)) {
			return false
		}
	}
	return true
}

// OtherWork begins the evidence of client_bound that other programs had the machine.
const OtherWork = "this machine was busy with other work"

// hostBusy is how many cores of the client's host were busy, in the mean; nil when
// that could not be read.
func (r *run) hostBusy() *float64 {
	var sum float64
	n := 0
	for _, c := range r.samples {
		if c.HostBusy.OK {
			sum += c.HostBusy.V
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return ref(sum / float64(n))
}

// lags are the pacer lags to judge, in milliseconds, and the mean gap between
// due times (open loop) or releases (closed). ok is false when there is no gap:
// a single request has no schedule to miss.
func (r *run) lags() (lags []float64, gap float64, ok bool) {
	open := r.open()
	points := r.spans()
	skip := make([]int64, len(r.groups))
	for g := range skip {
		if !open {
			skip[g] = max(0, r.groups[g].Load.Concurrency-r.warmups(g))
		}
	}
	r.eachMeasured(func(i int, q *metric.Request) {
		g := r.group(i)
		if open {
			points[g].add(q.Due)
		} else {
			points[g].add(q.Released)
		}
		if skip[g]--; skip[g] < 0 && q.PacerLag != metric.Absent {
			lags = append(lags, float64(q.PacerLag)/1e6)
		}
	})
	gap, ok = points.gap()
	return lags, gap, ok
}

// warmups are the warm-up requests of a group.
func (r *run) warmups(g int) int64 {
	var n int64
	for i := r.groups[g].From; i < r.groups[g].To; i++ {
		if r.reqs[i].Phase == tape.PhaseWarmup {
			n++
		}
	}
	return n
}

// offeredRate: in an open loop sends kept up with the times at which the load
// rules allowed them. A full cap delays those times too; that is the server's
// doing and no fault. Later turns of sessions are sent at no rate.
func (r *run) offeredRate() Check {
	c := Check{Name: "offered_rate", Severity: SeverityFail, Result: ResultNone, Unit: "share", Limit: ref(rateShort), Why: "no rate was offered: closed loop",
		Do: "the client fell behind its own schedule: use a faster or quieter client machine, or a lower rate"}
	if !r.open() {
		return c
	}
	ready, sent := r.spans(), r.spans()
	r.eachMeasured(func(i int, q *metric.Request) {
		if !q.Later && q.Ready != metric.Absent && q.PacerLag != metric.Absent {
			g := r.group(i)
			ready[g].add(q.Ready)
			// Not wrote_first: a new connection's set-up is the network's.
			sent[g].add(q.Ready + q.PacerLag)
		}
	})
	gaps, allowed := ready.sums()
	_, took := sent.sums()
	if gaps < 1 {
		c.Why = "fewer than two sends"
		return c
	}
	short := 0.0
	if took > 0 {
		short = max(0, 1-float64(allowed)/float64(took))
	}
	c.Value, c.Result = &short, ResultPass
	c.Why = fmt.Sprintf("sends took %.3f s where the load rules allowed %.3f s", float64(took)/1e9, float64(allowed)/1e9)
	if short > rateShort && float64(took-allowed)/1e6 > rateShortMS {
		c.Result = ResultMiss
	}
	return c
}
