package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis/metric"
)

// checks are all checks of a run, in the order in which they are shown: first
// those that decide, then notes.
func (r *run) checks(res *Results, o Options) []Check {
	late := r.lateness(res)
	all := []Check{
		r.tapeComplete(),
		r.tapeConsistent(),
		r.countsAddUp(res),
		r.clientBound(res, late),
		r.offeredRate(),
		r.tokenSources(),
		r.usageContradicted(),
		r.factsChanged(r.serverChanged()),
		r.probeContradicted(),
		r.clientLimit(res),
		r.failures(res),

		r.failuresAllowed(res),
		r.notStreamed(res),
		r.modelReplied(),
		r.usageMissing(),
		r.outputShort(),
		r.inputOffPlan(),
		r.outputOffText(),
		r.slotWait(res),
		r.sendDelay(late),
		r.durationReached(),
		r.windowSufficiency(res, o),
		r.windowTrend(res),
		r.cacheState(res),
		r.cacheOffPlan(res),
		r.repeats(),
		r.bursts(),
		r.attempts(res),
		r.scrapesMissing(),
		r.othersOnServer(),
		r.speculationCheck(),
	}
	if len(r.parts()) > 0 {
		all = append(all, r.mergedAlike())
	}
	if r.header.Envelope != nil || r.spec.Telemetry.KernelStamps != "" { // older tapes could not know of it
		all = append(all, r.clientEnvelope(res))
	}
	return all
}

// missed names each check's miss in the verdict's line.
var missed = map[string]string{
	"tape_complete":      "tape incomplete",
	"tape_consistent":    "tape contradicts itself",
	"counts_add_up":      "counts do not add up",
	"client_bound":       "client-bound",
	"offered_rate":       "sent slower than offered for our own fault",
	"token_sources":      "token sources mixed",
	"usage_contradicted": "token counts contradict each other",
	"server_changed":     "server changed in mid-run",
	"probe_contradicted": "what the probe saw did not hold",
	"client_limit":       "the client's machine failed, not the server",
	"client_envelope":    "a larger load than this host was seen to carry",
	"failures":           "too many failures",
	"failures_allowed":   "some requests failed",
	"not_streamed":       "answers not streamed",
	"model_replied":      "replies name another model",
	"usage_missing":      "usage missing",
	"output_short":       "output shorter than asked",
	"input_off_plan":     "input not as long as planned",
	"output_off_text":    "output counts are not those of the text",
	"slot_wait":          "requests waited for a slot",
	"send_delay":         "slow or late sends",
	"duration_reached":   "ended before load.duration",
	"window_sufficiency": "window too small",
	"window_trend":       "not steady",
	"cache_state":        "cache state not observable",
	"cache_off_plan":     "cache hits not as planned",
	"repeats":            "prompts repeated",
	"bursts":             "output in bursts",
	"attempts":           "requests sent more than once",
	"speculation":        "counts of speculation contradict each other or the stream",
	"merged_alike":       "unlike runs merged",
	"scrapes_missing":    "metrics pages not read throughout",
	"others_on_server":   "others used the server",
}

// CheckNames are the names of all checks, sorted: what report.strict may hold.
func CheckNames() []string { return slices.Sorted(maps.Keys(missed)) }

// okMeasured calls f for every ok request of the measured phase.
func (r *run) okMeasured(f func(q *metric.Request)) {
	r.eachMeasured(func(_ int, q *metric.Request) {
		if q.OK {
			f(q)
		}
	})
}

// share is n ÷ of; absent for none.
func share(n, of int64) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return float64(n) / float64(of), true
}

// digits is v with three digits that count, and never an exponent where people
// expect a number.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return thousands(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

// percent is a share as "12.3 %".
func percent(v float64) string { return fmt.Sprintf("%.3g %%", v*100) }

// plural is "1 request", "2 requests".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

func join(s []string, sep string) string { return strings.Join(s, sep) }
