package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// Kind says where a value stands in results.json, and so how its name is written
// in a condition.
type Kind string

const (
	KindMetric  Kind = "metric"  // a value per request, summed up per window: steady.ttft_ms.p95, or ttft_ms of every request
	KindSystem  Kind = "system"  // one value per window: steady.output_tokens_per_s
	KindFact    Kind = "fact"    // one value per window that says how to read the others: steady.median_service_times
	KindCount   Kind = "count"   // of the run: counts.failed
	KindLoad    Kind = "load"    // of the run: load.pacer_lag_p99_ms
	KindVerdict Kind = "verdict" // verdict.fit
	KindCheck   Kind = "check"   // checks.client_bound is pass, miss or not_observed; checks.client_bound.value a number
	KindTerm    Kind = "term"    // a word of the report that is no value: release, cohort
	KindRequest Kind = "request" // of a request, and not summed up: finish, tokens.cached
	KindPoint   Kind = "point"   // a value of a point of a sweep, in curve.json: backlog_slope_per_s
	KindServer  Kind = "server"  // what a metrics page of the server says: server.queue_depth, per window and page
)

// Which way a value is better.
const (
	Lower  = "lower"
	Higher = "higher"
)

// Entry is the one place of a definition.
type Entry struct {
	// Name as in results.json; {n} stands for a number, * for one of Words.
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	Title string `json:"title,omitempty"` // in tables for people, where it has one
	Unit  string `json:"unit,omitempty"`
	// Definition is the formula in one line; Brief is it cut for one page.
	Definition string `json:"definition"`
	Brief      string `json:"-"`
	// Windows says what the kinds of window make of a value of the whole service.
	Windows string `json:"windows,omitempty"`
	// Fields of the tape that it is computed from.
	Fields []string `json:"fields,omitempty"`
	// Enters says which requests do, Absent when there is no value and why.
	Enters string `json:"enters,omitempty"`
	Absent string `json:"absent,omitempty"`
	Better string `json:"better,omitempty"` // Lower, Higher, or "" where neither is
	// Severity of a check: fail or note.
	Severity string `json:"severity,omitempty"`
	// Words are what the value, or the * of the name, can be; nil: anything.
	Words []string `json:"words,omitempty"`
	// Status: a status code stands for the * of the name, three digits.
	Status bool `json:"-"`
	// Word is set where the value is a word and not a number; Bool where it is true
	// or false.
	Word bool `json:"-"`
	Bool bool `json:"-"`
	// Pooled is a metric with many values per request.
	Pooled bool `json:"-"`
	// EveryOutcome: a condition on every request judges failed ones too.
	EveryOutcome bool `json:"-"`
}

// Stats are the statistics of a metric's summary, by their names in results.json.
var Stats = []string{"n", "n_eff", "mean", "sd", "min", "max", "p50", "p75", "p90", "p95", "p99", "p999"}

// WindowKinds are the windows that a run has of itself.
var WindowKinds = []string{"whole", "stable", "steady"}

var all = slices.Concat(metrics, requestFacts, systemRows, deviceRows, windowFacts, loadFacts, counts, verdicts, checks, serverRows, pointRows, terms)

// All are the entries in the order of docs/metrics.md.
func All() []Entry { return slices.Clone(all) }

// Of are the entries of some kinds, of all when none is given, in order.
func Of(kinds ...Kind) []Entry {
	return slices.DeleteFunc(All(), func(e Entry) bool { return len(kinds) > 0 && !slices.Contains(kinds, e.Kind) })
}

// Find is the entry of that name among some kinds, all when none is given.
func Find(name string, kinds ...Kind) (Entry, bool) {
	for i := range all {
		if e := &all[i]; (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) && e.Is(name) {
			return *e, true
		}
	}
	return Entry{}, false
}

// Names are the names of some kinds, of all when none is given, in order.
func Names(kinds ...Kind) []string {
	var names []string
	for _, e := range Of(kinds...) {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Is reports whether name is the entry's: as it stands in the list, or with a number
// for {n} and one of Words for a * at the end.
func (e Entry) Is(name string) bool {
	if e.Name == name {
		return true
	}
	if head, ok := strings.CutSuffix(e.Name, "*"); ok {
		rest, ok := strings.CutPrefix(name, head)
		return ok && e.stands(rest)
	}
	head, tail, ok := strings.Cut(e.Name, "{n}")
	if !ok {
		return false
	}
	rest, ok1 := strings.CutPrefix(name, head)
	n, ok2 := strings.CutSuffix(rest, tail)
	if !ok1 || !ok2 {
		return false
	}
	v, err := strconv.ParseInt(n, 10, 64)
	return err == nil && v > 0 && strconv.FormatInt(v, 10) == n
}

// HasStat reports whether name is one of Stats.
func HasStat(name string) bool { return slices.Contains(Stats, name) }
