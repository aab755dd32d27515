package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tokentape/tape"
)

// NoDue marks a row without a planned time: it is sent when a slot is free.
const NoDue int64 = -1

// Row is one planned request.
type Row struct {
	Seq    int64      `json:"seq"`
	Due    int64      `json:"due"`  // nanoseconds from the first due time (0), or NoDue
	Item   int64      `json:"item"` // row of the dataset, 0-based
	Output int64      `json:"output,omitempty"`
	Phase  tape.Phase `json:"phase"`
	Stripe int        `json:"stripe,omitempty"`

	// Session is the number of the session that the row belongs to, from 1; 0: none.
	// Turn counts from 0; a turn after the first has no due time of its own, but is
	// due Think ns after the answer to the one before.
	Session int64 `json:"session,omitempty"`
	Turn    int   `json:"turn,omitempty"`
	Think   int64 `json:"think,omitempty"`
}

// Kinds of plan.
const (
	KindRows      = "rows"      // all rows exist before the run
	KindGenerator = "generator" // rows are drawn while it runs: duration-bound closed loop
)

// Plan is the rows of a run in issue order: warm-up rows first, measured rows
// after them in the same arrival process without a gap. It is read-only after
// Make or Read, except that Tail draws lazily.
type Plan struct {
	Kind   string // KindRows or KindGenerator
	Params Params // what the rows were made from
	// DatasetSHA256 names the dataset that Item refers to, hex; it is written
	// into the saved plan and so enters its hash. Set it before Write or SHA256.
	DatasetSHA256 string

	rows   []row
	talks  []talk // beside rows; nil without sessions
	warmup int64
	order  order
	mix    *mixer // nil: one dataset
	tail   *tail
	draws  *drawer // of a generator of sessions
	cut    bool    // Params.Turns ends the last session in its middle
}

// row is a Row without what follows from its place; 32 bytes.
type row struct {
	due, item, output int64
	stripe            int32
	warmup            bool
}

// At is row i in issue order, and its Seq is i. ok is false past the last row;
// a generator ends only when dataset rows run out.
func (p *Plan) At(i int64) (r Row, ok bool) {
	if i < 0 {
		return Row{}, false
	}
	if p.Kind == KindGenerator {
		if p.Params.Sessions {
			return p.drawTurn(i)
		}
		return p.draw(i)
	}
	if i >= int64(len(p.rows)) {
		return Row{}, false
	}
	c := p.rows[i]
	r = Row{Seq: i, Due: c.due, Item: c.item, Output: c.output, Phase: tape.PhaseMeasure, Stripe: int(c.stripe)}
	if c.warmup {
		r.Phase = tape.PhaseWarmup
	}
	if p.talks != nil {
		t := p.talks[i]
		r.Session, r.Turn, r.Think = t.session, t.turn, t.think
	}
	return r, true
}

// Warmup is the number of warm-up rows, the first ones in issue order.
func (p *Plan) Warmup() int64 { return p.warmup }

// Planned is the number of measured rows; −1 for a generator.
func (p *Plan) Planned() int64 {
	if p.Kind == KindGenerator {
		return -1
	}
	return int64(len(p.rows)) - p.warmup
}

// Rows is the number of rows made before the run, warm-up included; 0 for a
// generator.
func (p *Plan) Rows() int64 { return int64(len(p.rows)) }

// Repeats is how many of the planned rows send a dataset row that an earlier row
// of the plan has sent already; those requests can hit the server's prefix
// cache. −1: not known before the run (a generator whose rows cycle).
func (p *Plan) Repeats() int64 {
	if p.Kind == KindGenerator {
		if p.Params.Repeat == RepeatCycle {
			return -1
		}
		return 0
	}
	seen := make([]uint64, p.Params.DataRows/64+1)
	var n int64
	for i, r := range p.rows {
		if p.talks != nil && p.talks[i].turn > 0 {
			continue
		}
		word, bit := &seen[r.item/64], uint64(1)<<(r.item%64)
		if *word&bit != 0 {
			n++
		}
		*word |= bit
	}
	return n
}

// String describes the plan in one line.
func (p *Plan) String() string {
	var b strings.Builder
	q, n := p.Params, p.Planned()
	if p.Kind == KindGenerator {
		what := "requests"
		if q.Sessions {
			what = "sessions"
		}
		fmt.Fprintf(&b, "%s for %s", what, seconds(q.Duration))
	} else {
		b.WriteString(count(n, "request"))
	}
	if q.Sessions {
		if p.Kind == KindRows {
			fmt.Fprintf(&b, " in %s", count(p.measuredSessions(), "session"))
		}
		if q.ThinkMean > 0 {
			fmt.Fprintf(&b, " (think time %s, %s in the mean", q.Think, seconds(q.ThinkMean))
			if q.Think != thinkFixed {
				fmt.Fprintf(&b, ", seed %d", q.ThinkSeed)
			}
			b.WriteString(")")
		}
		if q.SessionConcurrency > 0 && q.Open() {
			fmt.Fprintf(&b, ", at most %d open", q.SessionConcurrency)
		}
	}
	if q.Open() {
		switch {
		case q.Arrivals == replay:
			fmt.Fprintf(&b, " at the times of the trace (from %s", seconds(q.Replay.From))
			if q.Replay.To > 0 {
				fmt.Fprintf(&b, " to %s", seconds(q.Replay.To))
			}
			if q.Replay.Scale != 1 {
				fmt.Fprintf(&b, ", time × %s", number(q.Replay.Scale))
			}
		case len(q.Stages) > 0:
			fmt.Fprintf(&b, " at %s (%s", stagesText(q.Stages), q.Arrivals)
		default:
			fmt.Fprintf(&b, " at %s/s (%s", number(q.Rate), q.Arrivals)
		}
		if q.Arrivals == "gamma" {
			fmt.Fprintf(&b, ", burstiness %s", number(q.Burstiness))
		}
		if q.Conditioned {
			b.WriteString(", conditioned")
		}
		if q.Arrivals != "constant" && q.Arrivals != replay {
			fmt.Fprintf(&b, ", seed %d", q.ArrivalSeed)
		}
		b.WriteString(")")
		if q.RampShape != "" {
			fmt.Fprintf(&b, ", %s ramp from %s/s over %s", q.RampShape, number(q.RampFrom), seconds(q.RampDuration))
		}
		if q.Concurrency > 0 {
			fmt.Fprintf(&b, ", at most %d in flight", q.Concurrency)
		} else {
			b.WriteString(", no cap on requests in flight")
		}
		last := len(p.rows) - 1
		for p.rows[last].due == NoDue {
			last--
		}
		fmt.Fprintf(&b, ", over %s", seconds(p.rows[last].due-p.rows[p.warmup].due))
	} else {
		switch {
		case len(q.Stages) > 0:
			fmt.Fprintf(&b, ", closed loop with %s in flight", stagesText(q.Stages))
		case q.Sessions:
			fmt.Fprintf(&b, ", closed loop with %s open", count(q.SessionConcurrency, "session"))
		default:
			fmt.Fprintf(&b, ", closed loop with %d in flight", q.Concurrency)
		}
		if q.Stagger > 0 {
			fmt.Fprintf(&b, " (one more every %s)", seconds(q.Stagger))
		}
		if q.RampShape != "" {
			fmt.Fprintf(&b, " (%s ramp from %s over %s)", q.RampShape, number(q.RampFrom), seconds(q.RampDuration))
		}
		if q.Duration > 0 && p.Kind == KindRows {
			fmt.Fprintf(&b, ", for %s at the longest", seconds(q.Duration))
		}
	}
	fmt.Fprintf(&b, ", after %s", count(p.warmup, "warm-up"))
	if q.Order == OrderShuffle {
		fmt.Fprintf(&b, ", dataset rows shuffled (seed %d)", q.OrderSeed)
	}
	if k := p.Repeats(); k > 0 {
		fmt.Fprintf(&b, "; %d of %d repeat a dataset row", k, len(p.rows))
	}
	return b.String()
}

// stagesText is at most six stages in words.
func stagesText(stages []Stage) string {
	var parts []string
	for i, s := range stages {
		if i == 6 {
			parts = append(parts, fmt.Sprintf("… %d stages", len(stages)))
			break
		}
		what := number(s.Rate) + "/s"
		if s.Concurrency > 0 {
			what = strconv.FormatInt(s.Concurrency, 10)
		}
		parts = append(parts, what+" for "+seconds(s.Duration))
	}
	return strings.Join(parts, ", then ")
}

func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// seconds writes nanoseconds as seconds with at most three decimals.
func seconds(ns int64) string {
	ms := time.Duration(ns).Round(time.Millisecond).Milliseconds()
	s := strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + " s"
}
