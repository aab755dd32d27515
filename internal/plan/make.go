package plan

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"tokentape/internal/spec"
	"tokentape/tape"
)

// Values of workload.repeat and workload.order.
const (
	RepeatNone   = "none"
	RepeatCycle  = "cycle"
	OrderFile    = "file"
	OrderShuffle = "shuffle"
)

// MaxRows is the largest number of rows that a plan holds; a row takes 32 bytes.
const MaxRows = 50_000_000

// Params is everything that a plan's rows follow from: the same Params give the
// same rows on any machine. Fields without effect are zero, so that equal plans
// have equal hashes. Times are nanoseconds.
type Params struct {
	Requests     int64   `json:"requests,omitempty"` // N; 0: bound by Duration alone
	Concurrency  int64   `json:"concurrency,omitempty"`
	Rate         float64 `json:"rate,omitempty"` // requests/s; 0: closed loop
	Arrivals     string  `json:"arrivals,omitempty"`
	Burstiness   float64 `json:"burstiness,omitempty"`
	Conditioned  bool    `json:"conditioned,omitempty"`
	ArrivalSeed  int64   `json:"arrival_seed,omitempty"`
	Duration     int64   `json:"duration_ns,omitempty"` // from the first due time, ramp and warm-up included
	RampShape    string  `json:"ramp_shape,omitempty"`
	RampFrom     float64 `json:"ramp_from,omitempty"` // requests/s, or requests in flight
	RampDuration int64   `json:"ramp_duration_ns,omitempty"`
	Warmup       int64   `json:"warmup,omitempty"`
	Output       int64   `json:"output,omitempty"` // requested output tokens; 0: not asked
	DataRows     int64   `json:"data_rows"`
	Repeat       string  `json:"repeat"`
	Order        string  `json:"order"`
	OrderSeed    int64   `json:"order_seed,omitempty"`

	Parts   []Part `json:"parts,omitempty"` // the datasets that DataRows is made of, in order; nil: one
	MixSeed int64  `json:"mix_seed,omitempty"`

	Stages  []Stage `json:"stages,omitempty"`     // all of one kind; Duration is their sum
	Stagger int64   `json:"stagger_ns,omitempty"` // between the openings of two slots
	Replay  *Replay `json:"replay,omitempty"`     // with Arrivals "replay"

	// Sessions: rows of the dataset are conversations, whose turns are rows of the
	// plan. Requests, Warmup and Rate then count sessions, Turns measured requests.
	Sessions           bool   `json:"sessions,omitempty"`
	Turns              int64  `json:"turns,omitempty"`               // at most; 0: all of the sessions'
	SessionConcurrency int64  `json:"session_concurrency,omitempty"` // 0: no cap
	Think              string `json:"think,omitempty"`
	ThinkMean          int64  `json:"think_mean_ns,omitempty"`
	ThinkSeed          int64  `json:"think_seed,omitempty"`
}

// Stage is a step of the load: a rate, or a number of slots, for a while.
type Stage struct {
	Rate        float64 `json:"rate,omitempty"`
	Concurrency int64   `json:"concurrency,omitempty"`
	Duration    int64   `json:"duration_ns"`
}

// Replay is the part of a trace that is sent: rows whose time is From or later
// and before To (0: no end), with times stretched by Scale.
type Replay struct {
	Scale float64 `json:"scale"`
	From  int64   `json:"from_ns,omitempty"`
	To    int64   `json:"to_ns,omitempty"`
}

// replay is the value of load.arrivals that takes times from the rows.
const replay = "replay"

// Open reports whether rows have due times.
func (q Params) Open() bool {
	return q.Rate > 0 || q.Arrivals == replay || len(q.Stages) > 0 && q.Stages[0].Rate > 0
}

// generator reports whether rows are drawn while the plan runs.
func (q Params) generator() bool { return !q.Open() && q.Requests == 0 && q.Turns == 0 }

// slots is the number of places of a closed loop: for requests, or for sessions.
func (q Params) slots() int64 {
	if q.Sessions {
		return q.SessionConcurrency
	}
	return q.Concurrency
}

// Data is what a plan needs to know of the rows.
type Data struct {
	Rows int64
	// Turns is the number of turns of each row; with sessions only.
	Turns []int32
	// Parts are the datasets of a mix, in the order of their rows; nil: one dataset.
	Parts []Part
	// Times are those of the rows in ns after the first, ascending; nil: none.
	Times []int64
}

// Make plans the rows.
//
// output is workload.output_tokens, dataRows the number of rows of the dataset,
// repeat and order are the fields of that name of spec.Workload ("" is the
// default). N measured rows take the first N dataset rows (in file order, or in
// the shuffled order), W warm-up rows the W after them. A generator does not
// know N, so its warm-up rows take the last W. With repeat "cycle" rows wrap
// round, in the same order each time.
//
// load.duration counts from the first due time; in an open loop it bounds the
// rows (due < duration), in a closed loop without load.requests it makes the
// plan a generator that the run has to end.
//
// The error is a spec.Issue with the field and what mends it.
func Make(load spec.Load, output int64, dataRows int64, repeat, order string, seeds spec.Seeds) (*Plan, error) {
	return MakeOf(load, output, Data{Rows: dataRows}, repeat, order, seeds)
}

// MakeOf is Make over rows that have times, or turns: Data.Turns makes a plan of
// sessions. In it a row of the dataset is a session and each of its turns a row of
// the plan; N and W count sessions. With load.arrivals replay, rows are those of
// the window in the order of their times, the first W of them warm-up.
func MakeOf(load spec.Load, output int64, data Data, repeat, order string, seeds spec.Seeds) (*Plan, error) {
	q := Params{
		Requests: load.Requests, Concurrency: load.Concurrency, Duration: int64(load.Duration),
		Warmup: load.Warmup, Output: output, DataRows: data.Rows, Repeat: repeat, Order: order,
		Stagger: int64(load.Stagger), Parts: data.Parts,
	}
	if len(q.Parts) > 1 {
		q.MixSeed = seeds.Run
		if seeds.Mix != nil {
			q.MixSeed = *seeds.Mix
		}
	}
	if load.Arrivals == replay {
		q.Arrivals = replay
		q.Replay = &Replay{Scale: load.Replay.Scale, From: int64(load.Replay.From), To: int64(load.Replay.To)}
		if q.Replay.Scale == 0 {
			q.Replay.Scale = 1
		}
	}
	if len(load.Stages) > 0 {
		q.Duration, q.Stagger = 0, 0
		for _, s := range load.Stages {
			q.Stages = append(q.Stages, Stage{s.Rate, s.Concurrency, int64(s.Duration)})
			q.Duration += int64(s.Duration)
		}
	}
	if data.Turns != nil {
		q.sessions(load, seeds)
	}
	for _, s := range q.Stages {
		if q.Sessions {
			q.SessionConcurrency = max(q.SessionConcurrency, s.Concurrency)
		} else {
			q.Concurrency = max(q.Concurrency, s.Concurrency)
		}
	}
	if q.Requests == 0 && q.Turns == 0 && q.Duration == 0 && q.Arrivals != replay {
		q.Requests = 1
	}
	if q.Repeat == "" {
		q.Repeat = RepeatNone
	}
	if q.Order == "" {
		q.Order = OrderFile
	}
	if q.Order == OrderShuffle {
		q.OrderSeed = seeds.Run
		if seeds.Order != nil {
			q.OrderSeed = *seeds.Order
		}
	}
	if q.Open() && q.Arrivals != replay || load.Rate != 0 {
		q.Rate, q.Arrivals, q.Conditioned = load.Rate, load.Arrivals, load.Conditioned
		if q.Arrivals == "" {
			q.Arrivals = "constant"
		}
		if q.Arrivals == "gamma" {
			q.Burstiness = load.Burstiness
		}
		if q.Arrivals != "constant" {
			q.ArrivalSeed = seeds.Run
			if seeds.Arrivals != nil {
				q.ArrivalSeed = *seeds.Arrivals
			}
		}
	}
	if load.Ramp.Shape != "" {
		q.RampShape, q.RampFrom, q.RampDuration = load.Ramp.Shape, load.Ramp.From, int64(load.Ramp.Duration)
		if q.RampFrom == 0 {
			q.RampFrom = 1
		}
	}
	return fromParams(q, data)
}

func fromParams(q Params, data Data) (*Plan, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	p := &Plan{Kind: KindRows, Params: q, warmup: q.Warmup, order: newOrder(q), mix: newMixer(q)}
	if q.Arrivals == replay {
		if err := p.replay(data.Times); err != nil {
			return nil, err
		}
		return p, p.talkOver(data.Turns)
	}
	if q.generator() {
		p.Kind = KindGenerator
		if q.Repeat == RepeatNone && q.DataRows <= q.Warmup && p.mix == nil {
			return nil, fewRows("load.warmup", "%d warm-up rows and at least one measured row need more dataset rows than the %d there are", q.Warmup, q.DataRows)
		}
		if q.Sessions && data.Turns != nil {
			return p, p.drawOver(data.Turns)
		}
		return p, nil
	}
	if err := p.fill(); err != nil {
		return nil, err
	}
	if need := int64(len(p.rows)); q.Repeat == RepeatNone && need > q.DataRows {
		return nil, fewRows(q.bound(), "%d measured and %d warm-up requests need %d dataset rows, the dataset has %d", need-q.Warmup, q.Warmup, need, q.DataRows)
	}
	return p, p.talkOver(data.Turns)
}

func fewRows(field, format string, args ...any) error {
	return issue(field, "set workload.repeat: cycle to send rows again (repeats are counted, they hit the prefix cache), or ask for fewer requests", format, args...)
}

func issue(field, hint, format string, args ...any) error {
	return spec.Issue{Field: field, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// bound is the field that says how many rows there are.
func (q Params) bound() string {
	switch {
	case q.Requests > 0 && q.Sessions:
		return "load.sessions"
	case q.Turns > 0:
		return "load.requests"
	case q.Requests > 0:
		return "load.requests"
	case len(q.Stages) > 0:
		return "load.stages"
	}
	return "load.duration"
}

// fill makes all rows.
func (p *Plan) fill() error {
	q := p.Params
	total := int64(math.MaxInt64)
	if q.Requests > 0 {
		total = q.Requests + q.Warmup
	} else if q.Turns > 0 { // no session has less than one
		total = q.Turns + q.Warmup
		if q.Repeat == RepeatNone {
			total = min(total, max(q.DataRows, q.Warmup+1))
		}
	}
	capacity := total
	if q.Open() && q.Duration > 0 {
		// The rate never exceeds q.Rate, so this is the most that is expected.
		most := q.Rate*float64(q.Duration)/1e9 + 1
		for _, s := range q.Stages {
			most += s.Rate * float64(s.Duration) / 1e9
		}
		if most < float64(capacity) {
			capacity = int64(most)
		}
	}
	if capacity > MaxRows {
		return tooMany(q, capacity)
	}
	var sched *schedule
	if q.Open() {
		sched = newSchedule(q)
	}
	p.rows = make([]row, 0, capacity)
	for i := int64(0); i < total; i++ {
		due := NoDue
		if sched != nil {
			if due = sched.next(); q.Duration > 0 && due >= q.Duration {
				break
			}
			if due > maxDue {
				return issue("load.rate", "raise load.rate, or set load.duration", "at %s/s request %d would be due after more than 100 years", number(q.Rate), i)
			}
		}
		if i >= MaxRows {
			return tooMany(q, i+1)
		}
		p.rows = append(p.rows, row{due: due, output: q.Output, warmup: i < q.Warmup})
	}
	if err := p.someMeasured(); err != nil {
		return err
	}
	n := int64(len(p.rows)) - q.Warmup
	if p.mix != nil {
		return p.fillMixed()
	}
	for i := range p.rows {
		at := int64(i) - q.Warmup
		if at < 0 {
			at += q.Warmup + n
		}
		p.rows[i].item = p.order.item(at % q.DataRows)
	}
	return nil
}

func (p *Plan) someMeasured() error {
	if int64(len(p.rows)) > p.warmup {
		return nil
	}
	return issue("load.warmup", "ask for fewer warm-ups or a longer duration",
		"all %d requests that are due within %s %s are warm-ups, none would be measured", len(p.rows), p.Params.bound(), seconds(p.Params.Duration))
}

func tooMany(q Params, n int64) error {
	return issue(q.bound(), "ask for fewer, or split the run", "a plan of %d rows is more than the %d that are held in memory", n, MaxRows)
}

// draw is row i of a generator.
func (p *Plan) draw(i int64) (Row, bool) {
	q := p.Params
	r := Row{Seq: i, Due: NoDue, Output: q.Output}
	if p.mix != nil {
		if r.Phase = tape.PhaseMeasure; i < q.Warmup {
			r.Phase = tape.PhaseWarmup
		}
		var ok bool
		r.Item, ok = p.mix.item(i)
		return r, ok
	}
	own := max(q.DataRows-q.Warmup, 0) // rows kept for measured requests
	r.Phase = tape.PhaseMeasure
	at := i - q.Warmup
	switch {
	case at < 0: // the last W rows; wraps when there are fewer
		r.Phase = tape.PhaseWarmup
		at = ((at % q.DataRows) + q.DataRows) % q.DataRows
	case own == 0: // not enough rows to keep the two apart
		at %= q.DataRows
	case at >= own && q.Repeat == RepeatNone:
		return Row{}, false
	default:
		at %= own
	}
	r.Item = p.order.item(at)
	return r, true
}

// check refuses what cannot be planned. It repeats no more of spec's validation
// than keeps a saved or hand-made plan from going wrong here.
func (q Params) check() error {
	bad := func(field, format string, args ...any) error { return issue(field, "", format, args...) }
	finite := func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
	switch {
	case q.DataRows < 1:
		return bad("workload.dataset", "no rows; a plan needs at least one")
	case q.DataRows > maxDataRows:
		return bad("workload.dataset", "%d rows are more than the %d that can be planned over", q.DataRows, maxDataRows)
	case q.Repeat != RepeatNone && q.Repeat != RepeatCycle:
		return bad("workload.repeat", "%q is neither none nor cycle", q.Repeat)
	case q.Order != OrderFile && q.Order != OrderShuffle:
		return bad("workload.order", "%q is neither file nor shuffle", q.Order)
	case q.Order == OrderShuffle && q.DataRows > MaxRows:
		return bad("workload.order", "shuffle holds at most %d dataset rows, there are %d", MaxRows, q.DataRows)
	case q.Requests < 0 || q.Requests > MaxRows:
		return bad("load.requests", "%d is not between 1 and %d", q.Requests, MaxRows)
	case q.Warmup < 0 || q.Warmup > MaxRows:
		return bad("load.warmup", "%d is not between 0 and %d", q.Warmup, MaxRows)
	case q.Concurrency < 0 || q.Concurrency > MaxRows:
		return bad("load.concurrency", "%d is not between 0 and %d", q.Concurrency, MaxRows)
	case q.Duration < 0:
		return bad("load.duration", "%s is negative", seconds(q.Duration))
	case q.Output < 0:
		return bad("workload.output_tokens", "%d is negative", q.Output)
	case q.Requests == 0 && q.Turns == 0 && q.Duration == 0 && q.Arrivals != replay:
		return bad("load.requests", "neither requests nor duration is given, so the plan has no end")
	case !finite(q.Rate) || q.Rate < 0:
		return bad("load.rate", "%v is not a positive number of requests per second", q.Rate)
	case q.Sessions && !q.Open() && q.SessionConcurrency == 0:
		return bad("load.session_concurrency", "0 means no cap, which needs load.rate; set one of the two")
	case q.SessionConcurrency < 0 || q.SessionConcurrency > MaxRows:
		return bad("load.session_concurrency", "%d is not between 0 and %d", q.SessionConcurrency, MaxRows)
	case q.Stagger < 0:
		return bad("load.stagger", "%s is negative", seconds(q.Stagger))
	case !q.Sessions && !q.Open() && q.Concurrency == 0:
		return bad("load.concurrency", "0 means no cap, which needs load.rate; set one of the two")
	}
	if err := q.checkParts(); err != nil {
		return err
	}
	if err := q.checkStages(); err != nil {
		return err
	}
	if err := q.checkSessions(); err != nil {
		return err
	}
	if q.Arrivals == replay {
		return q.checkReplay()
	}
	if q.Open() {
		if _, ok := arrivals[q.Arrivals]; !ok {
			return bad("load.arrivals", "%q is not known; there are %s", q.Arrivals, strings.Join(arrivalNames(), ", "))
		}
		if q.Arrivals == "gamma" && !(q.Burstiness >= 1e-3 && q.Burstiness <= 1e6) {
			return bad("load.burstiness", "%v is not between 0.001 and 1000000 (1 is Poisson, smaller is burstier)", q.Burstiness)
		}
		if q.Conditioned && q.Arrivals != "poisson" {
			return bad("load.conditioned", "has no effect with load.arrivals %s; it is for poisson", q.Arrivals)
		}
		if q.Conditioned && q.Requests == 0 {
			return bad("load.conditioned", "needs load.requests: with a duration alone the number of arrivals is not fixed")
		}
	} else if q.Conditioned {
		return bad("load.conditioned", "has no effect without load.rate")
	}
	return q.checkRamp()
}

func (q Params) checkRamp() error {
	if q.RampShape == "" {
		return nil
	}
	to, field := q.Rate, "load.rate"
	if q.Rate == 0 {
		to, field = float64(q.slots()), "load.concurrency"
		if q.Sessions {
			field = "load.session_concurrency"
		}
	}
	switch {
	case q.RampShape != "linear" && q.RampShape != "exponential":
		return issue("load.ramp.shape", "", "%q is neither linear nor exponential", q.RampShape)
	case q.RampDuration <= 0:
		return issue("load.ramp.duration", "set it, for example to 30s", "a ramp needs a length")
	case math.IsNaN(q.RampFrom) || q.RampFrom < 1e-6:
		return issue("load.ramp.from", "", "%v is not a starting value of at least 0.000001", q.RampFrom)
	case q.RampFrom >= to:
		return issue("load.ramp.from", "", "a ramp rises, but %s is not below %s %s (from is 1 when not set)", number(q.RampFrom), field, number(to))
	}
	return nil
}

func arrivalNames() []string {
	names := make([]string, 0, len(arrivals))
	for n := range arrivals {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
