package analysis

import (
	"fmt"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// probeContradicted: what a probe proved before the load held in the load. Another
// server, another worker behind the address, or another configuration answered
// where it did not.
func (r *run) probeContradicted() Check {
	c := Check{Name: "probe_contradicted", Severity: SeverityFail, Result: ResultNone, Unit: "requests", Limit: ref(0),
		Why: "no probe went before the load",
		Do:  "find out who answered: several workers of different settings behind one address, a proxy that drops fields, or a server that changed; probe each by its own address"}
	probed := slices.ContainsFunc(r.caps, func(k *tape.Capabilities) bool { return len(k.By) > 0 })
	if !probed {
		return c
	}
	type kind struct {
		what  string
		n, of int64
		first int64 // seq
		seen  string
	}
	kinds := []*kind{
		{what: "the probe saw the server's token counts, these answers have none"},
		{what: "the probe saw cached tokens reported also when 0, these answers have no count"},
		{what: "another model answered"},
	}
	var off, judged int64
	r.eachMeasured(func(i int, q *metric.Request) {
		if !q.OK {
			return
		}
		f, bad, any := &r.facts[i], false, false
		see := func(k *kind, contradicts bool, seen string) {
			any = true
			k.of++
			if !contradicts {
				return
			}
			if k.n++; k.n == 1 {
				k.first, k.seen = q.Seq, seen
			}
			bad = true
		}
		for _, caps := range r.caps {
			if len(caps.By) == 0 || caps.Part.Or(0) != int64(q.Part) || caps.URL.Or(0) != r.servers[q.Server].url {
				continue
			}
			streamed := r.spec.Workload.Stream && !slices.Contains(f.flags, "not_streamed")
			promised := streamed && (caps.Usage == tape.UsageEnd || caps.Usage == tape.UsageEvery) || !streamed && caps.UsageWhole.V
			if promised && q.OutputSource != tape.SourceTool {
				see(kinds[0], unserved(q), "")
			}
			if caps.CachedTokens == tape.CachedAlways && !unserved(q) && len(q.Contradicts) == 0 {
				see(kinds[1], q.Cached == metric.Absent, "")
			}
			if f.model.OK && caps.Model != "" {
				got := f.model.V
				if got == "" {
					got = r.asked(q)
				}
				if got != "" {
					see(kinds[2], got != caps.Model, fmt.Sprintf("%q, not %q", short(got, 60), short(caps.Model, 60)))
				}
			}
		}
		if any {
			judged++
		}
		if bad {
			off++
		}
	})
	if judged == 0 {
		c.Why = "no ok request that what the probe saw says anything of"
		return c
	}
	c.Result, c.Value, c.Why = ResultPass, ref(float64(off)), fmt.Sprintf("%s as the probe saw the server", plural(judged, "request"))
	if off == 0 {
		return c
	}
	c.Result, c.Why = ResultMiss, ""
	for _, k := range kinds {
		if k.n == 0 {
			continue
		}
		if c.Why != "" {
			c.Why += "; "
		}
		c.Why += fmt.Sprintf("%s: %s of %s (request %d", k.what, thousands(k.n), plural(k.of, "request"), k.first)
		if k.seen != "" {
			c.Why += ": " + k.seen
		}
		c.Why += ")"
	}
	return c
}

// asked is the model id that a request carried, "" where the tape does not tell.
func (r *run) asked(q *metric.Request) string {
	if parts := r.parts(); int(q.Part) < len(parts) {
		return parts[q.Part].Header.Server.Model
	}
	return r.header.Server.Model
}
