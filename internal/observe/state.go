package observe

import "tokentape/tape"

// State is one moment of a run, as the run published it. Times are nanoseconds
// since the run's epoch; Planned is −1 when time, not a number, ends the run.
type State struct {
	T         int64
	Begun     tape.Opt[int64] // when the plan's time begins; absent before that is known
	Planned   int64
	Issued    int64 // all phases
	Before    int64 // of these, before the plan's time
	Measured  int64
	Due       tape.Opt[int64] // planned rows, warm-up included, whose time has come; absent in a closed loop
	InFlight  int64
	OK        int64
	Failed    map[string]int64
	Cancelled int64
	Abandoned int64
	Prepared  int64
	Warmed    int64 // of these, ended warm-up requests
	Events    int64 // token events
	Queue     int64 // records waiting for the tape
	Draining  bool
	Stopped   string
	Why       string // beside Stopped
	Final     bool
}

// Setup is what of a run does not change while it goes on. Times are nanoseconds.
type Setup struct {
	Concurrency int64   // C, 0: no cap
	Rate        float64 // r, offered requests per second; 0: none
	Warmup      int64   // requests planned
	Duration    int64   // from the beginning of the plan's time to the end of issuing; 0: none
	LastDue     int64   // of the plan, from its beginning; 0: a closed loop
	Drain       int64   // what running requests get when issuing ends early
	Cores       int     // of this host that the client may use
	// Say is how a label or a fact of the table is said in the user's language; nil: as it
	// is, in English. What came from outside is never handed to it.
	Say func(string) string `json:"-"`
}

func (s *Setup) say(text string) string {
	if s.Say == nil {
		return text
	}
	return s.Say(text)
}

// Spread is how a duration is spread over the requests that ended within the last
// seconds; in nanoseconds, within 1.6 % of the exact nearest-rank percentiles.
type Spread struct {
	N             int64 // requests
	P50, P90, P99 int64
	All           int64 // requests of the whole run so far
	Sum           int64 // over them, ns
}

// Failure is a class of failures.
type Failure struct {
	Class   string
	N       int64
	Message string // of the last one
}

// Moment is all that a view shows of a moment of a run. Rates are per second over
// the last Span nanoseconds, as are the spreads; absent: not known.
type Moment struct {
	State
	Setup    Setup
	Span     int64
	Offered  tape.Opt[float64] // requests that fell due
	Sent     tape.Opt[float64] // requests that went out
	Ended    tape.Opt[float64] // measured requests that ended, however
	Tokens   tape.Opt[float64] // output tokens: token events × tokens in one event
	PerEvent tape.Opt[float64] // output tokens of a token event, over the ended requests whose output was counted
	Left     tape.Opt[int64]   // ns until the end, as far as it can be told
	TTFT     Spread
	TPOT     Spread
	Failures []Failure // most first
	Client   *tape.ClientSample
}

// ended is how many measured requests have ended.
func (s *State) ended() int64 { return s.OK + s.Cancelled + s.Abandoned + failed(*s) }

func failed(s State) (n int64) {
	for _, k := range s.Failed {
		n += k
	}
	return n
}

func phase(s State, warmup int64) string {
	switch {
	case s.Final:
		return "done"
	case s.Stopped == tape.ReasonAbort:
		return "aborting"
	case s.Draining:
		return "draining"
	case s.Stopped == tape.ReasonDuration, s.Stopped == tape.ReasonEnough, s.Planned >= 0 && s.Measured == s.Planned:
		return "ending"
	case s.Stopped != "":
		return "stopping"
	case !s.Begun.OK:
		return "preparing"
	case s.T < s.Begun.V:
		return "starting"
	case s.Measured == 0 && warmup > 0:
		return "warm-up"
	}
	return "measure"
}
