package analysis

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"tokentape/internal/analysis/as"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// Source is a tape as a stream of records, io.EOF at the end; *tape.Reader is
// one. SHA256 is asked after the last record.
type Source interface {
	Next() (tape.Record, error)
	SHA256() string
}

// Options choose what Analyse makes. The zero Options take everything from the
// tape.
type Options struct {
	// Windows are the kinds of tables, in the order in which they appear; empty:
	// report.windows of the tape's spec, else all.
	Windows []string
	// NoCI leaves confidence intervals and effective sample sizes out.
	NoCI bool
	// As are other tools under whose definitions the tape is shown too (AsTools).
	As []string
	// MinRequests and MinSeconds are the conventions below which a window is called
	// too small to confirm a steady state; 0: 128 requests, 60 s.
	MinRequests int64
	MinSeconds  float64
	// Charts makes Results.Charts, for drawings.
	Charts bool
	// Expect are conditions beside those of the tape's spec.
	Expect []string
	// Power is the power series of the devices, nil: none.
	Power *Power
	// Over is JSON that is laid over the tape's spec, for settings that were given
	// when it was read; Given names them, and stands among the notes.
	Over  json.RawMessage
	Given []string
	// Watch is told how far the reading of a file is, in bytes; total is 0 where it is
	// not known. It may be called from another goroutine. Optional.
	Watch func(done, total int64)

	// Limits of memory, less in tests; 0: keptBytes, exactGaps.
	kept, exact int64
}

// The conventions of window sufficiency.
const (
	DefaultMinRequests = 128
	DefaultMinSeconds  = 60
	minServiceTimes    = 10
)

// AnalyseFile reads the tape at path and turns it into results, twice where it
// has too many events to keep. Errors: the file cannot be read, is not a tape, is
// of a newer major schema, or changed between the two readings. A torn or
// incomplete tape is no error: the verdict says so.
func AnalyseFile(path string, o Options) (*Results, error) {
	src, done, err := open(path, o.Watch)
	if err != nil {
		return nil, err
	}
	defer done()
	return Analyse(src, o)
}

// open makes a Source of a file, which can be read again unless it is a pipe.
func open(path string, watch func(done, total int64)) (src Source, done func() error, err error) {
	r, err := tape.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() { // a pipe is read once
		return r, r.Close, nil
	}
	if watch != nil {
		r.Watch(watch)
	}
	r.Ahead(runtime.GOMAXPROCS(0))
	return &file{r, path, watch}, r.Close, nil
}

// file is a Rereader.
type file struct {
	*tape.Reader
	path  string
	watch func(done, total int64) // nil: nobody
}

func (f *file) Again() (Source, func() error, error) {
	r, err := tape.OpenFile(f.path)
	if err != nil {
		return nil, nil, err
	}
	if f.watch != nil {
		r.Watch(f.watch)
	}
	r.Ahead(runtime.GOMAXPROCS(0))
	r.Trust()
	return r, r.Close, nil
}

// Analyse reads src and turns it into results: once, or a second time where it is
// a Rereader with too many events to keep. The numbers depend on the records
// alone, not on their order in the tape, and on none of this.
func Analyse(src Source, o Options) (*Results, error) {
	_, res, _, err := analyse(src, o)
	return res, err
}

// analyse is Analyse, with what it knows of the tape and the options as resolved.
func analyse(src Source, o Options) (*run, *Results, Options, error) {
	if err := CheckAs(o.As); err != nil {
		return nil, nil, o, err
	}
	var others as.Loader
	if len(o.As) > 0 {
		src = listen(src, &others)
	}
	r, err := collect(src, o)
	if err != nil {
		return nil, nil, o, err
	}
	kinds := o.Windows
	if len(kinds) == 0 {
		kinds = r.spec.Report.Windows
	}
	if len(kinds) == 0 {
		kinds = window.Kinds()
	}
	for i, k := range kinds {
		if err := window.Check(k); err != nil {
			return nil, nil, o, err
		}
		if slices.Contains(kinds[:i], k) {
			return nil, nil, o, fmt.Errorf("window %q twice", k)
		}
	}
	if o.MinRequests == 0 {
		o.MinRequests = DefaultMinRequests
	}
	if o.MinSeconds == 0 {
		o.MinSeconds = DefaultMinSeconds
	}

	res := &Results{Schema: Schema, TapeSHA256: r.sha256}
	if r.header.Import != nil {
		res.Imported = r.header.Import.Tool
	}
	r.about(res)
	if len(o.Given) > 0 {
		res.Notes = append(slices.Clip(res.Notes), "given when the tape was read (--set), and not part of it: "+strings.Join(o.Given, "; "))
	}
	if o.Power != nil && r.spec.Energy.Watts > 0 {
		res.Notes = append(slices.Clip(res.Notes), fmt.Sprintf("energy is by the power series, in place of energy.watts %g of the spec", r.spec.Energy.Watts))
	}
	res.Counts = r.counts()
	res.Provenance = r.provenance()
	res.Probe = r.probe()
	res.Load = r.load()
	res.Cache = r.cache()
	res.Remotes = r.remotes()
	res.Parts = r.partResults()
	if res.As, err = asTables(&others, o.As); err != nil {
		return nil, nil, o, err
	}
	// The run's own windows are always made: checks are judged by them, whatever
	// windows this report shows.
	made := slices.Clone(kinds)
	for _, k := range window.Kinds() {
		if !slices.Contains(made, k) {
			made = append(made, k)
		}
	}
	intervals := make([]window.Interval, 0, len(made))
	var members []member
	var cohorts [][]int
	for _, k := range made {
		w := window.ChooseOver(k, r.reqs, r.groups)
		switch {
		case !r.untimed():
		case k == window.KindWhole:
			w.Why = "all measured requests, each timed from its own start"
		default:
			w = window.Interval{Kind: k, Why: "no such window: " + notTimed}
		}
		intervals, cohorts = append(intervals, w), append(cohorts, w.Cohort)
	}
	if o.Charts {
		r.charter = r.newCharter()
	}
	r.look(cohorts, cuts(intervals)) // once for all of them
	judged := make([]Window, len(made))
	r.extra = map[string]*Window{}
	for i, k := range made {
		judged[i] = r.table(intervals[i], o)
		if i >= len(kinds) {
			r.extra[k] = &judged[i]
			continue
		}
		in := make([]bool, len(r.reqs))
		for _, q := range intervals[i].Cohort {
			in[q] = true
		}
		members = append(members, member{k, in})
	}
	res.Windows = slices.Clone(judged[:len(kinds)])
	r.pages = r.serverPages(intervals, judged)
	res.Server = r.pages.of(kinds)
	r.witness(res.Cache, r.pages)
	res.Speculation = r.speculation(intervals[:len(kinds)])
	res.Differences = r.differences(intervals[:len(kinds)], res.Windows)
	if res.Wave = r.wave(); res.Wave.worth() {
		res.Notes = append(slices.Clip(res.Notes), res.Wave.Note)
	}
	res.Rows = r.rows(members)
	if o.Charts && r.later.err == nil {
		if res.Charts, err = r.charts(r.charter, intervals[:len(kinds)]); err != nil {
			return nil, nil, o, err
		}
	}
	own := *res
	own.Windows = judged
	res.Verdict = r.verdict(&own, o)
	res.Notes = timely(res.Notes, res.Verdict.Checks)
	res.Expect = r.expect(res, o)
	if r.later != nil && r.later.err != nil {
		return nil, nil, o, r.later.err
	}
	return r, res, o, nil
}
