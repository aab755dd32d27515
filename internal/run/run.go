package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// TokenCounter counts the tokens of a text by the model's own tokenizer. It is
// called after a request's end, one text at a time, never on the read path.
type TokenCounter interface {
	CountTokens(text string) (int64, error)
}

// InputCounter counts the tokens of an item's prompt as the server will build it;
// not ok when that cannot be known. It is called when rows are staged, by a
// goroutine of its own, since a long prompt takes tens of milliseconds.
type InputCounter func(workload.Item) (n int64, ok bool)

// CacheExpected is how many tokens of a row's prompt the server's prefix cache is
// expected to have; not ok when nobody knows. It must be cheap.
type CacheExpected func(workload.Ref) (n int64, ok bool)

// GroupOf names the prompts that begin as an item's, in the words of
// tape.Asked.Group; "" where nobody knows. prepared: the item is one of Prepare's. It
// is called when rows are staged.
type GroupOf func(item workload.Item, prepared bool) string

// Sampler writes lines of its own to the tape until ctx is done: client health,
// server metrics. gauges and emit are safe for concurrent use.
type Sampler func(ctx context.Context, gauges func() Gauges, emit func(line any))

// Config is everything a run needs. All fields but the optional ones must be set.
type Config struct {
	Clock    *clock.Clock // Rebase is called on it: t = 0 is the first due time
	Plan     *plan.Plan
	Source   workload.Source
	Exchange *exchange.Exchanger
	Tape     *tape.Writer
	Header   tape.Header // Anchor and Runtime are filled in here
	// ReadStamp is what a stamp of a response is, in the words of tape.Anchor; "": "conn".
	ReadStamp string

	Concurrency int64         // C; 0: no cap
	Sessions    int64         // most sessions open at once, when the plan has sessions; 0: no cap
	Recorded    bool          // later turns of sessions go on with the recorded answers, not with the server's
	Duration    time.Duration // end of issuing; 0: when the plan ends
	Attempts    int           // tries a request, at least 1
	Retry       Retry         // of attempts that failed
	Abandon     Abandon       // closes streams in the middle
	Drain       time.Duration // for running requests after the first interrupt, or when the context is cancelled
	Before      []tape.Step   // steps of the preflight, by Clock as it stood before Run
	Probe       Probe         // before the preparation; optional
	Prepare     Prepare       // before the plan's rows
	Tail        bool          // go on with unmeasured rows until the measured ones have ended

	Counter  TokenCounter    // optional
	Inputs   InputCounter    // optional
	Least    bool            // Inputs counts less than the whole prompt: never in place of the server's count
	Cached   CacheExpected   // optional
	Group    GroupOf         // optional
	Samplers []Sampler       // optional
	Publish  func(Snapshot)  // optional; called ten times a second
	Tokens   func() int64    // optional: token events seen so far, for Snapshot
	Stop     <-chan struct{} // optional: each receive is one interrupt (first drains, second cancels)
	Ended    func(Ended)     // optional: told of every request, before its slot is free; from many goroutines, and must be cheap
	// Written is told of every request of the plan and the preparation right before it
	// goes on the tape, with all its counts and its slot free; optional, from many
	// goroutines. It must be quick, and neither change the request nor keep it.
	Written func(*tape.Request)
	// Enough gives why what was measured is enough: nothing more is issued, and what runs
	// ends as it would; optional.
	Enough <-chan string
	Said   func(Said) // optional: told of what the run comes to; from many goroutines, a few dozen times in all
}

// What a run tells of itself.
const (
	SaidBegin = "begin" // t = 0 is known, the tape has its header
	SaidPhase = "phase" // a phase begins or ends
	SaidStop  = "stop"  // no more requests are issued, with the reason
	SaidDrain = "drain" // running requests get their time, or are cancelled
)

// Said is something that a run came to.
type Said struct {
	T    int64  // nanoseconds since the run's epoch
	Kind string // Said…
	Text string
}

// Ended is a copy of what rules are judged by: a request that ended.
type Ended struct {
	T        int64 // nanoseconds since the run's epoch
	Seq      int64
	Phase    tape.Phase
	Outcome  tape.Outcome
	Cause    string
	Status   int // of the answer; 0: none came
	Message  string
	Attempts int
}

// Summary is what the footer says.
type Summary struct {
	Footer tape.Footer
	// FirstFailure is the first request that did not end ok, for the message of
	// a refused run.
	FirstFailure *tape.Request
}

// StopError is a named end of issuing (a tape.Reason… constant), and the cause
// of the cancelled context.
type StopError struct{ Reason, Message string }

func (e *StopError) Error() string {
	if e.Message == "" {
		return e.Reason
	}
	return e.Message
}

// errCancelled is the cause that requests see when they are cut short by the
// user or by a stop rule.
var errCancelled = errors.New("cancelled: the run was stopped")

// errMeasuredDone ends the issuing of tail rows; it is no stop reason.
var errMeasuredDone = errors.New("all measured requests have ended")

type engine struct {
	cfg Config
	clk *clock.Clock
	rec *recorder

	issue       context.Context // rows may be released while it lives
	cancelIssue context.CancelCauseFunc
	work        context.Context // running requests live in it
	cancelWork  context.CancelCauseFunc
	retry       context.Context // further attempts may be made while it lives
	cancelRetry context.CancelFunc

	slots  *slots // for requests
	places *slots // for sessions
	wg     sync.WaitGroup

	issued   atomic.Int64 // all phases
	begun    [phases]atomic.Bool
	inFlight atomic.Int64
	lags     lagWindow
	known    *known   // nil: no dataset row is sent twice
	inputs   *inputs  // nil: prompts are not counted
	outputs  *outputs // nil: outputs are not counted
	ended    int64    // the last request had ended
	base     int64    // when the plan's time begins; later than 0 after a preparation

	mu       sync.Mutex
	counts   counts
	stopped  *StopError
	draining bool
	allSent  bool // issuing has ended

	planBegun    tape.Opt[int64] // base, once it is known
	issuedBefore int64           // then
}

type counts struct {
	issuedMeasured int64
	drawnMeasured  int64 // rows of the generator: those issued, and the later turns of sessions that began
	endedMeasured  int64
	ok             int64
	cancelled      int64
	abandoned      int64
	failed         map[string]int64
	preparation    int64
	warmup, tail   int64 // of these
	warmupFailed   int64
	anyOK          bool
	first          *tape.Request // first that did not end ok
}

// Run sends the plan and writes the tape; it returns when the last line is
// flushed. When ctx is cancelled nothing more is issued, and running requests have
// cfg.Drain to end; a *StopError as the cause names the reason. The error is not nil when the tape could not be written or rows could
// not be prepared; the summary is valid all the same.
func Run(ctx context.Context, cfg Config) (*Summary, error) {
	e := &engine{cfg: cfg, clk: cfg.Clock}
	e.counts.failed = map[string]int64{}
	e.issue, e.cancelIssue = context.WithCancelCause(ctx)
	e.work, e.cancelWork = context.WithCancelCause(context.WithoutCancel(ctx))
	e.retry, e.cancelRetry = context.WithCancel(e.work)
	defer e.cancelIssue(nil)
	defer e.cancelWork(nil)
	defer e.cancelRetry()

	e.slots, e.places = newSlots(cfg.Concurrency), newSlots(cfg.Sessions)

	if cfg.Counter != nil {
		e.outputs = countOutputs(cfg.Counter)
	}
	if cfg.Inputs != nil {
		e.inputs = countInputs(cfg.Inputs)
		defer e.inputs.close()
	}
	side, endSide := context.WithCancel(context.WithoutCancel(ctx))
	defer endSide()
	var sideWG sync.WaitGroup
	sideWG.Go(func() { e.watchContext(ctx, side) })
	if cfg.Stop != nil {
		sideWG.Go(func() { e.watchInterrupts(side) })
	}
	if cfg.Enough != nil {
		sideWG.Go(func() {
			select {
			case why := <-cfg.Enough:
				e.stop(tape.ReasonEnough, why)
			case <-side.Done():
			}
		})
	}
	e.known = newKnown(cfg.Plan)
	staged := e.stage()
	<-staged.full // bodies are ready before t = 0

	// Issuing begins a little later, so that the pacer waits for the first due
	// time as it does for every other.
	const lead = int64(2 * time.Millisecond)
	epoch := e.clk.Now() + lead
	e.clk.Rebase(epoch)
	wall, machine := e.clk.Epoch()
	cfg.Header.Anchor = tape.Anchor{
		Wall: wall.Format(time.RFC3339Nano), Clock: "monotonic",
		Machine: machine, ReadStamp: cmp.Or(cfg.ReadStamp, "conn"),
	}

	cfg.Header.Runtime = inForce()

	e.rec = newRecorder(cfg.Tape, e.stop)
	e.rec.put(&cfg.Header)
	e.before(epoch)
	e.rec.flush() // in a frame of its own: a kill or a tear leaves a tape that says what it is
	e.say(SaidBegin, "t = 0 is "+cfg.Header.Anchor.Wall)

	for _, s := range cfg.Samplers {
		sideWG.Go(func() { s(side, e.gauges, e.rec.put) })
	}
	sideWG.Go(func() { e.clk.Tick(side, flushEvery, func(int64) { e.rec.flush() }) })
	if cfg.Publish != nil {
		sideWG.Go(func() { e.clk.Tick(side, int64(100*time.Millisecond), func(int64) { cfg.Publish(e.snapshot()) }) })
	}
	if cfg.Probe != nil {
		e.say(SaidPhase, "probe begins")
		e.probe()
		e.base = e.clk.Now() + lead
	}
	if len(cfg.Prepare.Flush) > 0 || cfg.Prepare.Rows > 0 {
		e.say(SaidPhase, "prepare begins")
		e.prepareServer()
		e.say(SaidPhase, "prepare ends")
		e.base = e.clk.Now() + lead
	}
	e.mu.Lock()
	e.planBegun, e.issuedBefore = tape.Some(e.base), e.issued.Load()
	e.mu.Unlock()
	defer e.openSlots()()
	if cfg.Duration > 0 {
		t := e.clk.AfterFunc(int64(cfg.Duration)+lead, func() { e.stop(tape.ReasonDuration, "") })
		defer t.Stop()
	}

	e.pace(staged)
	if e.cfg.Plan.Params.Sessions {
		e.wg.Wait() // their later turns are issued from what the first ones brought
	}
	e.stopBy(ctx)
	e.mu.Lock()
	e.allSent = true
	e.mu.Unlock()
	e.say(SaidPhase, fmt.Sprintf("issuing ends: %d requests of all phases went out, %d are in flight", e.issued.Load(), e.inFlight.Load()))
	e.cancelIssue(nil)
	for range staged.jobs { // let the stager end
	}
	e.wg.Wait()
	e.say(SaidPhase, "the last request has ended")
	e.stopBy(ctx) // the last request may have broken a rule
	e.ended = e.clk.Now()
	endSide()
	sideWG.Wait()

	sum := e.finish()
	err := e.rec.close(&sum.Footer)
	if cfg.Publish != nil {
		s := e.snapshot()
		s.Final = true
		cfg.Publish(s)
	}
	if f := sum.Footer; err == nil && (f.Reason == tape.ReasonInternal || f.Reason == tape.ReasonDataset) {
		err = &StopError{f.Reason, f.Message}
	}
	return sum, err
}

// openSlots makes the places under the caps. In a closed loop the plan opens them;
// of sessions those for sessions.
func (e *engine) openSlots() (end func()) {
	loop, other := e.slots, e.places
	if e.cfg.Plan.Params.Sessions {
		loop, other = e.places, e.slots
	}
	if other != nil {
		other.resize(cap(other.free), e.base)
	}
	if loop == nil {
		return func() {}
	}
	return loop.follow(e.clk, e.cfg.Plan, e.base)
}

// stop ends the issuing of rows with a named reason; the first one wins. A
// reason that makes the rest of the run worthless cancels what is running too.
func (e *engine) stop(reason, message string) {
	e.mu.Lock()
	ofItself := reason == tape.ReasonDuration || reason == tape.ReasonEnough
	if ofItself && e.allSent {
		e.mu.Unlock()
		return // every row had gone out by then
	}
	first := e.stopped == nil
	if first {
		e.stopped = &StopError{reason, message}
	}
	cause := e.stopped
	e.mu.Unlock()
	if first {
		e.say(SaidStop, strings.TrimSuffix(reason+": "+message, ": "))
	}
	e.cancelIssue(cause)
	if !ofItself {
		e.cancelRetry()
	}
	switch reason {
	case tape.ReasonRefused, tape.ReasonWarmup, tape.ReasonPrepare, tape.ReasonProbe, tape.ReasonInternal, tape.ReasonDisk, tape.ReasonDataset:
		e.cancelWork(errCancelled)
	}
}

// stopBy stops the run as the cause of a cancelled context says.
func (e *engine) stopBy(ctx context.Context) {
	cause := context.Cause(ctx)
	if cause == nil {
		return
	}
	why := &StopError{tape.ReasonInterrupted, cause.Error()}
	errors.As(cause, &why)
	e.stop(why.Reason, why.Message)
}

// watchContext obeys who owns the run's context: rules that were given a copy of
// the ended requests. side ends it.
func (e *engine) watchContext(ctx, side context.Context) {
	select {
	case <-ctx.Done():
	case <-side.Done():
		return
	}
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	e.stopBy(ctx)
	t := e.drain()
	defer t.Stop()
	<-side.Done()
}

// watchInterrupts obeys the user: the first interrupt stops issuing and gives
// running requests cfg.Drain to end, the second cancels at once.
func (e *engine) watchInterrupts(ctx context.Context) {
	wait := func() bool {
		select {
		case _, ok := <-e.cfg.Stop:
			return ok
		case <-ctx.Done():
			return false
		}
	}
	if !wait() {
		return
	}
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	e.stop(tape.ReasonInterrupted, "")
	t := e.drain()
	defer t.Stop()
	if wait() {
		e.say(SaidDrain, "cancelled at once what still ran")
		e.cancelWork(errCancelled)
	}
}

// drain gives running requests cfg.Drain to end.
func (e *engine) drain() *clock.Timer {
	e.say(SaidDrain, fmt.Sprintf("%d running requests get %s to end", e.inFlight.Load(), e.cfg.Drain))
	return e.clk.AfterFunc(int64(e.cfg.Drain), func() {
		e.say(SaidDrain, fmt.Sprintf("cancelled what still ran after %s", e.cfg.Drain))
		e.cancelWork(errCancelled)
	})
}

// say tells what the run comes to, to whoever keeps a log.
func (e *engine) say(kind, text string) {
	if e.cfg.Said != nil {
		e.cfg.Said(Said{e.clk.Now(), kind, text})
	}
}

// phases is how many phases have a first request that is told.
const phases = 3

// told tells the first request of a phase.
func (e *engine) told(p tape.Phase) {
	i := slices.Index([]tape.Phase{tape.PhaseWarmup, tape.PhaseMeasure, tape.PhaseTail}, p)
	if i >= 0 && !e.begun[i].Load() && e.begun[i].CompareAndSwap(false, true) {
		e.say(SaidPhase, string(p)+" begins")
	}
}

// finish closes the books: planned = ok + failed + cancelled + abandoned + not
// issued.
func (e *engine) finish() *Summary {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &e.counts
	f := tape.Footer{
		Type: "footer", Reason: tape.ReasonCompleted,
		OK: c.ok, Failed: c.failed, Cancelled: c.cancelled, Abandoned: c.abandoned,
		Preparation: c.preparation, Warmup: tape.Some(c.warmup), Tail: tape.Some(c.tail), TEnd: e.ended,
	}
	if e.stopped != nil {
		f.Reason, f.Message = e.stopped.Reason, e.stopped.Message
	}
	f.Planned = e.cfg.Plan.Planned()
	if f.Reason == tape.ReasonCompleted || f.Reason == tape.ReasonDuration {
		f.Message = e.cfg.Plan.Ended(f.Reason == tape.ReasonDuration)
	}
	if f.Planned < 0 { // a generator plans what it issues, and sessions whole
		f.Planned = c.drawnMeasured
		if e.stopped == nil {
			f.Reason = tape.ReasonRows
			f.Message = "the dataset's rows ran out before load.duration"
		}
	}
	f.NotIssued = f.Planned - c.issuedMeasured
	sum := f.OK + f.Cancelled + f.Abandoned + f.NotIssued
	for _, n := range f.Failed {
		sum += n
	}
	if sum != f.Planned || f.NotIssued < 0 {
		f.Reason = tape.ReasonInternal
		f.Message = fmt.Sprintf("counts do not add up: planned %d, ok %d, failed %v, cancelled %d, abandoned %d, not issued %d",
			f.Planned, f.OK, f.Failed, f.Cancelled, f.Abandoned, f.NotIssued)
	}
	return &Summary{Footer: f, FirstFailure: c.first}
}
