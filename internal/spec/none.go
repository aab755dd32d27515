package spec

import (
	"reflect"
	"slices"
)

// canBeNone reports whether a flag may take back what the spec file says of a
// field by "none": the bounds of a load that may as well not be there.
func canBeNone(path string) bool {
	return slices.Contains([]string{"load.requests", "load.concurrency", "load.rate", "load.duration", "load.warmup", "load.sessions", "workload.output_tokens", "search.for"}, path)
}

// none makes a field as if it had been left out, and 0 where its default is more.
// Without a rate the loop is closed, so what shaped the arrivals at that rate goes
// with it; what later flags say of them is refused, as it is without a rate.
func (d *decoder) none(at place, path string, v reflect.Value) {
	l, had := &d.spec.Load, d.spec.Load.Rate > 0
	v.SetZero()
	d.forget(path)
	if path == "search.for" { // what says how goes with it
		d.spec.Search = Default().Search
		d.forget("search")
	}
	if path != "load.rate" {
		return
	}
	if l.Open() {
		d.add(at.issue(path, "leave the stages, or the replay, out", "none has no effect: load.stages or load.arrivals say when requests go out"))
	}
	if had {
		was := Default().Load
		l.Arrivals, l.Burstiness, l.Conditioned, l.Ramp = was.Arrivals, was.Burstiness, was.Conditioned, was.Ramp
		for _, p := range []string{"load.arrivals", "load.burstiness", "load.conditioned", "load.ramp"} {
			d.forget(p)
		}
	}
}

// forget makes a field, and what is below it, one that was not given.
func (d *decoder) forget(path string) {
	for p := range d.from {
		if within(p, path) {
			delete(d.from, p)
		}
	}
}
