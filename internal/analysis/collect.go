package analysis

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/scrape"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// spec holds the few settings of the tape's header that analysis obeys.
type spec struct {
	Name   string `json:"name"`
	Target struct {
		API string `json:"api"`
	} `json:"target"`
	Workload struct {
		Stream   bool `json:"stream"`
		Sampling struct {
			N json.RawMessage `json:"n"` // anything may stand there
		} `json:"sampling"`
	} `json:"workload"`
	Load struct {
		Requests    int64   `json:"requests"`
		Concurrency int64   `json:"concurrency"`
		Rate        float64 `json:"rate"`
		Warmup      int64   `json:"warmup"`
		Tail        string  `json:"tail"`
		Ramp        struct {
			Shape    string   `json:"shape"`
			Duration duration `json:"duration"`
		} `json:"ramp"`
	} `json:"load"`
	Limits struct {
		FailedShare float64 `json:"failed_share"`
	} `json:"limits"`
	Report struct {
		Windows []string `json:"windows"`
		Strict  []string `json:"strict"`
		SLO     slo      `json:"slo"`
	} `json:"report"`
	Devices devices  `json:"devices"`
	Cost    cost     `json:"cost"`
	Energy  energy   `json:"energy"`
	Expect  []string `json:"expect"`

	Telemetry struct {
		Interval duration `json:"interval"`
		Metrics  []struct {
			Name     string   `json:"name"`
			Role     string   `json:"role"`
			URL      string   `json:"url"`
			Interval duration `json:"interval"`
		} `json:"metrics"`
		KernelStamps string `json:"kernel_stamps"` // "": written before there was any
	} `json:"telemetry"`
}

// slo are upper limits per request in milliseconds; 0: none.
type slo struct {
	TTFT        float64 `json:"ttft_ms"`
	TTFTFromDue float64 `json:"ttft_from_due_ms"`
	TPOT        float64 `json:"tpot_ms"`
	ITL         float64 `json:"itl_ms"`
	E2E         float64 `json:"e2e_ms"`
	E2EFromDue  float64 `json:"e2e_from_due_ms"`
}

// run is a tape in memory, reduced: requests in plan order, facts beside them.
type run struct {
	header  *tape.Header
	caps    []*tape.Capabilities
	steps   []tape.Step // as they were written
	footer  *tape.Footer
	calls   []tape.Call // by time
	said    []*tape.ServerFacts
	faults  []string
	samples []tape.ClientSample // by time
	scrapes scrape.Collector
	again   Rereader // nil: the tape can be read once
	pages   *Server  // what the metrics pages say, nil: none
	sha256  string
	spec    spec

	reqs    []metric.Request
	facts   []fact         // of the request at the same index
	groups  []window.Group // runs that went on at the same time; one unless the tape is merged
	flight  *window.Flight
	trended map[string][]string // trends found, by kind of window
	extra   map[string]*Window  // tables that a condition or a question asked for beside the report's
	// proved: a server reports cached tokens; of which one a missing count is a 0, its
	// requests know.
	proved  bool
	servers []reporting
	first   map[prompt]int // the request that went out first with a prompt; nil where nothing is known of the cache
	exact   int64          // ITL gaps up to which their distribution is exact
	later   *later

	charter *charter // nil: no charts are wanted
}

// fact is what statistics do not need but counts, rows and checks do.
type fact struct {
	outcome                tape.Outcome
	cause, message, finish string
	flags                  []string
	status, attempts       int
	waited                 float64 // ns between attempts
	reused                 *bool
	row, turn              int64
	session                string
	group, backend         string // tape.Asked.Group, tape.Tokens.CachedBackend
	data                   int64  // tape.Ref.Data
	expected               int64  // tokens that the prefix cache was to have; metric.Absent: nothing was said
	content                uint64 // stands for the dataset row's bytes
	connID                 int64
	model                  tape.Opt[string] // that the answer named; "": the one that was asked for
	remote                 string           // address that it went to
	conn                   int64            // release to connection; metric.Absent: there was none
	noPart                 bool             // of a part that the header does not name; taken for the first
}

// collect makes one pass over the tape. Token events stay in memory up to a
// limit, or all of them where src cannot be read again.
func collect(src Source, o Options) (*run, error) {
	again, _ := src.(Rereader)
	r := &run{later: new(later), exact: cmp.Or(o.exact, exactGaps), trended: map[string][]string{}}
	r.again = again
	words := interner{}
	for {
		rec, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch rec := rec.(type) {
		case *tape.Header:
			if r.header != nil {
				return nil, fmt.Errorf("the tape holds two headers (runs %s and %s): merge runs, do not concatenate them", r.header.Run, rec.Run)
			}
			r.header = rec
			if len(rec.Spec) > 0 {
				if err := json.Unmarshal(rec.Spec, &r.spec); err != nil {
					return nil, fmt.Errorf("the spec in the tape's header cannot be read: %w", err)
				}
			}
			if len(o.Over) > 0 {
				if err := json.Unmarshal(o.Over, &r.spec); err != nil {
					return nil, fmt.Errorf("the settings over the tape's spec cannot be read: %w", err)
				}
			}
		case *tape.Capabilities:
			r.caps = append(r.caps, rec)
		case *tape.Step:
			r.steps = append(r.steps, *rec)
		case *tape.Request:
			r.add(rec, words)
			if again != nil && !r.later.arena.Off && r.later.arena.Bytes() > cmp.Or(o.kept, keptBytes) {
				r.later.src, r.later.arena = again, metric.Arena{Off: true}
				for i := range r.reqs {
					r.reqs[i].Drop()
				}
			}
		case *tape.ClientSample:
			r.samples = append(r.samples, *rec)
		case *tape.Scrape:
			r.scrapes.Add(rec)
		case *tape.ServerFacts:
			r.said = append(r.said, rec)
		case *tape.Call:
			r.calls = append(r.calls, *rec)
		case *tape.Footer:
			r.footer = rec
		case *tape.Fault:
			r.faults = append(r.faults, rec.String())
		}
	}
	if r.header == nil {
		return nil, errors.New("the tape has no header: it is empty or not a tape")
	}
	r.sha256 = src.SHA256()
	r.sort()
	r.join()
	r.prove()
	r.flight = window.NewFlight(r.reqs)
	return r, nil
}

// interner keeps one copy of each of the few words that a tape repeats.
type interner map[string]string

func (in interner) word(s string) string {
	if w, ok := in[s]; ok {
		return w
	}
	if len(in) < 1000 {
		in[s] = s
	}
	return s
}

func (r *run) add(q *tape.Request, in interner) {
	m := metric.Reduce(q, &r.later.arena)
	m.InputSource, m.OutputSource = in.word(m.InputSource), in.word(m.OutputSource)
	m.Phase = tape.Phase(in.word(string(m.Phase)))
	f := fact{
		outcome: tape.Outcome(in.word(string(q.Outcome))), cause: in.word(q.Cause), message: q.Message, finish: in.word(q.Finish),
		status: q.HTTP.Status, attempts: min(q.Attempts, maxAttempts), row: q.Ref.Row,
		turn: int64(q.Turn), session: q.Session.V, expected: q.Asked.Cached.Or(metric.Absent),
		group: in.word(q.Asked.Group), backend: in.word(q.Tokens.CachedBackend), data: q.Ref.Data,
	}
	if f.expected < 0 || f.expected > tape.MaxTokens {
		f.expected = metric.Absent
	}
	f.conn = metric.Absent
	if q.TConn.OK && q.TReleased.OK && q.Conn != nil && !q.Conn.Reused {
		f.conn = q.TConn.V - q.TReleased.V
	}
	if p := q.Part.Or(0); p != 0 && (p < 0 || p >= int64(len(r.parts()))) {
		f.noPart, m.Part = true, 0
	}
	m.Server = r.server(int64(m.Part), q.URL.Or(0))
	for i := range q.AttemptLog {
		f.waited += float64(q.AttemptLog[i].Wait)
	}
	for _, w := range q.Flags {
		f.flags = append(f.flags, in.word(w))
	}
	f.model = tape.Opt[string]{V: in.word(q.Model.V), OK: q.Model.OK}
	if q.Conn != nil {
		if q.Conn.ID > 0 || q.TConn.OK { // else only an address that was tried
			reused := q.Conn.Reused
			f.reused, f.connID = &reused, q.Conn.ID
		}
		f.remote = in.word(q.Conn.Remote)
	}
	h := fnv.New64a()
	if q.Ref.SHA256 != "" {
		io.WriteString(h, q.Ref.SHA256)
	} else {
		io.WriteString(h, strconv.FormatInt(q.Ref.Row, 10))
	}
	f.content = h.Sum64()
	r.reqs = append(r.reqs, m)
	r.facts = append(r.facts, f)
}

// sort brings everything into plan order, so that the order of lines does not
// matter.
func (r *run) sort() {
	order := make([]int, len(r.reqs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &r.reqs[a], &r.reqs[b]
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Released, y.Released))
	})
	if r.later.src != nil {
		r.later.place = make([]int32, len(order))
		for to, from := range order {
			r.later.place[from] = int32(to)
		}
	}
	reqs, facts := make([]metric.Request, len(order)), make([]fact, len(order))
	for to, from := range order {
		reqs[to], facts[to] = r.reqs[from], r.facts[from]
	}
	r.reqs, r.facts = reqs, facts
	slices.SortStableFunc(r.calls, func(a, b tape.Call) int { return cmp.Compare(a.T, b.T) })
	slices.SortStableFunc(r.samples, func(a, b tape.ClientSample) int { return cmp.Compare(a.T, b.T) })
}

// open reports whether sends have due times that do not wait for answers.
func (r *run) open() bool {
	for i := range r.reqs {
		if r.reqs[i].Due != metric.Absent && !r.reqs[i].Later {
			return true
		}
	}
	return r.spec.Load.Rate > 0
}

func (r *run) windowLoad() window.Load {
	l := window.Load{Concurrency: r.spec.Load.Concurrency, Open: r.open()}
	if r.spec.Load.Ramp.Shape != "" {
		l.Ramp = int64(r.spec.Load.Ramp.Duration)
	}
	return l
}

func (r *run) isMeasured(i int) bool { return r.reqs[i].Phase == tape.PhaseMeasure }

// eachMeasured calls f for every request of the measured phase, in plan order.
func (r *run) eachMeasured(f func(i int, q *metric.Request)) {
	for i := range r.reqs {
		if r.isMeasured(i) {
			f(i, &r.reqs[i])
		}
	}
}

// untimed reports that the tape was made of results that do not say when requests
// were sent: the times of each count from its own start.
func (r *run) untimed() bool { return r.header.Import != nil && r.header.Import.Untimed }

const notTimed = "when requests were sent was not recorded"
