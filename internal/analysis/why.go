package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokentape/tape"
)

// The stages of a run, in which it can go wrong.
const (
	StageConfiguration = "configuration" // what was asked for cannot be asked of this server, or by this client
	StageConnect       = "connect"       // no connection
	StageRequest       = "request"       // the request was not sent in time, or not taken
	StageStream        = "stream"        // the answer broke, or says what cannot be
	StageRecord        = "record"        // the tape is not whole
	StageAnalysis      = "analysis"      // the tape is there, the reports are not
)

// Stages are the stages in their order.
func Stages() []string {
	return []string{StageConfiguration, StageConnect, StageRequest, StageStream, StageRecord, StageAnalysis}
}

// States of a run, the worst of what was found.
const (
	StateFine    = "fine"
	StateNotes   = "notes"       // fit for use, with notes
	StateUnfit   = "unfit"       // measured, and a check of severity fail missed
	StateFailed  = "failed"      // it went wrong: too many failures, or it broke off
	StateNoRun   = "never_began" // no request went out
	StateNoTape  = "unreadable"  // there is a tape, and it cannot be read
	StateStopped = "interrupted" // by the user
)

// States of a Stage.
const (
	StageOK      = "ok"
	StageBad     = "wrong"
	StageUnknown = "not_observed"
)

// Triage says whether a run went wrong, in which stage, how, and what to do.
type Triage struct {
	Run   string `json:"run,omitempty"`
	Name  string `json:"name,omitempty"`
	State string `json:"state"`
	Stage string `json:"stage,omitempty"` // that went wrong; empty: none did
	Line  string `json:"line"`
	// Unsaid: the analysis itself failed, so that nothing is said of the run.
	Unsaid bool `json:"-"`

	Stages   []Stage   `json:"stages"`
	Failures []Failure `json:"failures,omitempty"` // most frequent first
	// Steps are those of looking at the server that failed before any request.
	Steps    []ProbeStep `json:"failed_steps,omitempty"`
	Missed   []Check     `json:"missed,omitempty"`   // of severity fail first; Do as everywhere
	Evidence []string    `json:"evidence,omitempty"` // of Missed, at the same index: the command that shows it
	Notes    []string    `json:"notes,omitempty"`    // said by the run, before it or after
	Faults   []string    `json:"tape_faults,omitempty"`
	Log      []LogLine   `json:"log,omitempty"` // of run.log, the lines that matter here
	Next     []Step      `json:"next,omitempty"`
}

// Stage is how far one stage went.
type Stage struct {
	Name  string `json:"name"`
	State string `json:"state"` // StageOK, StageBad, StageUnknown
	Text  string `json:"text"`
}

// Step is what to do next.
type Step struct {
	Command string `json:"command,omitempty"` // for a shell
	Why     string `json:"why"`
}

// Whereabouts are what a Triage knows beside the tape.
type Whereabouts struct {
	Run  string // the run as a command names it: its folder, or its tape
	Spec string // its spec.yaml as a command names it; "": there is none
	Log  *RunLog
	// Reports says whether the folder's reports are there; nil: they need not be.
	Reports *bool
}

// Why reads a tape and says what went wrong. Errors are those of Analyse.
func Why(src Source, at Whereabouts, o Options) (*Triage, error) {
	seen := newWhySeen()
	if again, ok := src.(Rereader); ok {
		src = watchAgain{watch{src, seen}, again}
	} else {
		src = watch{src, seen}
	}
	r, res, _, err := analyse(src, o)
	if err != nil {
		return nil, err
	}
	w := &why{at: at, run: r, res: res, seen: seen}
	return w.triage(), nil
}

// WhyFile is Why of the tape at path.
func WhyFile(path string, at Whereabouts, o Options) (*Triage, error) {
	src, done, err := open(path, o.Watch)
	if err != nil {
		return nil, err
	}
	defer done()
	return Why(src, at, o)
}

// watch shows every record of the first pass to seen.
type watch struct {
	Source
	seen *whySeen
}

// watchAgain is a watch of what can be read again; seen hears the first pass only.
type watchAgain struct {
	watch
	again Rereader
}

func (w watchAgain) Again() (Source, func() error, error) { return w.again.Again() }

func (w watch) Next() (tape.Record, error) {
	rec, err := w.Source.Next()
	if err == nil {
		w.seen.add(rec)
	}
	return rec, err
}

// why is a Triage under way.
type why struct {
	at   Whereabouts
	run  *run
	res  *Results
	seen *whySeen
	t    Triage
}

func (w *why) triage() *Triage {
	t := &w.t
	t.Run, t.Name, t.Faults = w.res.Run, w.res.Name, w.res.About.Faults
	w.answersOfProbe()
	t.Failures = w.failures()
	t.Steps = slices.DeleteFunc(w.failedSteps(), func(s ProbeStep) bool { return s.Request != "" })
	for _, severity := range []string{SeverityFail, SeverityNote} {
		for _, c := range w.res.Verdict.Checks {
			if c.Severity == severity && c.Result == ResultMiss && !w.wholeTape(c.Name) {
				t.Missed = append(t.Missed, c)
				t.Evidence = append(t.Evidence, fmt.Sprintf("tokentape explain checks.%s %s", c.Name, w.at.Run))
			}
		}
	}
	t.Notes = w.res.Notes
	if n := w.res.Counts.Flags["buffered"]; n > 0 && w.missed("client_bound") != nil {
		t.Notes = append(slices.Clip(t.Notes), fmt.Sprintf("%s flagged buffered: as the client was late, their bunches may be its own, or those of a server on the same machine", plural(n, "answer")))
	}
	if w.at.Log != nil {
		t.Log = w.at.Log.worth()
	}
	w.judge()
	w.stages()
	w.next()
	return t
}

// wholeTape reports a check that holds the end of the run against the tape, where the
// tape is whole and the triage says itself how the run ended.
func (w *why) wholeTape(check string) bool {
	return check == "tape_complete" && w.run.footer != nil && len(w.res.About.Faults) == 0 && len(w.run.parts()) == 0
}

// failuresLine says how many requests failed, and how.
func (w *why) failuresLine() string {
	f := w.t.Failures[0]
	line := fmt.Sprintf("%s of %s ended %s", thousands(f.Count), plural(f.Of, "request"), f.Class)
	if n := len(w.t.Failures) - 1; n > 0 {
		line += fmt.Sprintf(", and %s of %s", thousands(w.otherFailures()), classes(n))
	}
	return line
}

// judge finds the state, the stage and the line.
func (w *why) judge() {
	t, about := &w.t, w.res.About
	over, steps := w.missed(CheckFailures), w.failedSteps()
	switch {
	case w.run.footer == nil:
		t.State, t.Stage = StateFailed, StageRecord
		t.Line = "the tape ends without a footer: the run was killed, its machine went down, or it still goes on; what is on the tape can be read"
		if l := w.at.Log; l != nil && l.Code == nil {
			t.Line += "; run.log ends without an exit code too"
		} else if why := l.stopped(tape.ReasonDisk, tape.ReasonRecorder, tape.ReasonInternal); why != "" {
			t.Line = "the tape could not be written to its end: " + why
		}
	case about.Stop == tape.ReasonDisk, about.Stop == tape.ReasonRecorder:
		t.State, t.Stage, t.Line = StateFailed, StageRecord, "the tape could not be written: "+about.StopWhy
	case about.Stop == tape.ReasonInternal:
		t.State, t.Stage, t.Line = StateFailed, StageRecord, "a fault of tokentape itself broke the run off: "+about.StopWhy
	case about.Stop == tape.ReasonDataset:
		t.State, t.Stage, t.Line = StateFailed, StageConfiguration, "a row of the dataset could not be sent: "+about.StopWhy
	case about.Stop == tape.ReasonInterrupted && w.probeOnly():
		t.State, t.Line = StateStopped, fmt.Sprintf("the user stopped it after %s of the probe", plural(w.res.Probe.Requests, "request"))
	case w.probeOnly() && len(steps) > 0:
		w.judgeProbe(steps)
	case about.Stop == tape.ReasonInterrupted:
		t.State, t.Line = StateStopped, fmt.Sprintf("the user stopped it after %s of %s", plural(w.res.Counts.Issued, "measured request"), thousands(w.res.Counts.Planned))
	case about.Stop == tape.ReasonRefused, about.Stop == tape.ReasonWarmup, about.Stop == tape.ReasonPrepare, about.Stop == tape.ReasonProbe, about.Stop == tape.ReasonAbort, over != nil,
		w.res.Counts.OK == 0 && w.res.Counts.Failed > 0:
		t.State, t.Stage = StateFailed, StageRequest
		t.Line = cmp.Or(about.StopWhy, w.res.Verdict.Line)
		if len(t.Failures) > 0 {
			t.Stage, t.Line = t.Failures[0].Stage, w.failuresLine()
			switch about.Stop {
			case tape.ReasonRefused:
				t.Line += "; the first request was refused, so no more were sent"
			case tape.ReasonWarmup, tape.ReasonPrepare, tape.ReasonProbe, tape.ReasonAbort:
				t.Line += "; that stopped the run: " + about.Stop
			}
		}
	case w.at.Reports != nil && !*w.at.Reports:
		t.State, t.Stage = StateFailed, StageAnalysis
		t.Line = "the tape is whole, and its reports are not there: the analysis or the writing of them failed"
	case len(about.Faults) > 0:
		t.State, t.Stage, t.Line = StateUnfit, StageRecord, "the tape is not as it was written: "+about.Faults[0]
	case !w.res.Verdict.Fit:
		t.State = StateUnfit
		if t.Stage = StageRecord; len(t.Missed) > 0 {
			t.Stage = w.checkStages(t.Missed[0].Name)[0]
		}
		t.Line = strings.TrimPrefix(w.res.Verdict.Line, "NOT fit for use: ")
	case len(t.Missed) > 0 || len(t.Notes) > 0:
		t.State, t.Line = StateNotes, strings.TrimPrefix(w.res.Verdict.Line, "fit for use; ")
	default:
		t.State, t.Line = StateFine, "nothing went wrong: "+w.res.Verdict.Line
	}
}

func (w *why) missed(name string) *Check {
	for i := range w.t.Missed {
		if w.t.Missed[i].Name == name {
			return &w.t.Missed[i]
		}
	}
	return nil
}

func (w *why) otherFailures() (n int64) {
	for _, f := range w.t.Failures[1:] {
		n += f.Count
	}
	return n
}

// stages says of each stage how it went.
func (w *why) stages() {
	bad := map[string][]string{}
	for _, f := range w.t.Failures {
		bad[f.Stage] = append(bad[f.Stage], fmt.Sprintf("%s %s", thousands(f.Count), f.Class))
	}
	for _, c := range w.t.Missed {
		if c.Severity == SeverityFail && c.Name != CheckFailures && c.Name != "tape_complete" {
			for _, s := range w.checkStages(c.Name) {
				bad[s] = append(bad[s], missed[c.Name])
			}
		}
	}
	n := w.res.Counts
	good := map[string]string{
		StageConfiguration: w.configured(), StageConnect: w.connected(),
		StageRequest: w.sent(),
		StageStream:  fmt.Sprintf("%s ended well", plural(n.OK, "measured answer")),
		StageRecord:  "the tape is whole: " + w.res.About.Stop,
	}
	probed := map[string]Stage{}
	if w.probeOnly() {
		for _, s := range w.probeStages(w.failedSteps()) {
			probed[s.Name] = s
		}
	}
	for _, name := range Stages() {
		s := Stage{Name: name, State: StageOK, Text: good[name]}
		if found := bad[name]; len(found) > 0 {
			s.State, s.Text = StageBad, join(found, ", ")
		}
		if p, ok := probed[name]; ok {
			w.t.Stages = append(w.t.Stages, p)
			continue
		}
		switch name {
		case StageRecord:
			if w.t.Stage == name || w.run.footer == nil || len(w.res.About.Faults) > 0 {
				s.State, s.Text = StageBad, w.recorded()
			}
		case StageAnalysis:
			s.Text = "the tape can be read; the reports are made of it"
			if r := w.at.Reports; r != nil && *r {
				s.Text = "the tape can be read, the reports are there"
			} else if r != nil {
				s.State, s.Text = StageBad, "the reports are missing"
				if w.run.footer == nil {
					s.State, s.Text = StageUnknown, "the run did not come to it"
				}
			}
		case StageStream:
			if n.OK == 0 && s.State == StageOK {
				s.State, s.Text = StageUnknown, "no answer came so far"
				if came := w.answered(); came > 0 {
					s.Text = fmt.Sprintf("none ended well; %s came", plural(came, "answer"))
				}
			}
		}
		if w.t.Stage == name && s.State == StageOK {
			s.State = StageBad
		}
		w.t.Stages = append(w.t.Stages, s)
	}
}

// sent says how many measured requests went out: those that found no connection did not.
func (w *why) sent() string {
	n := w.res.Counts
	none := n.ByClass[string(tape.OutcomeConnect)] + n.ByClass[string(tape.OutcomeClient)]
	text := fmt.Sprintf("%s of %s measured went out", thousands(n.Issued-none), thousands(n.Planned))
	if none > 0 {
		text += fmt.Sprintf("; %s had no connection to go out on", thousands(none))
	}
	return text
}

// answered is how many requests had an answer, whatever it was.
func (w *why) answered() (n int64) {
	for i := range w.seen.ends {
		if w.seen.ends[i].status != 0 {
			n++
		}
	}
	return n
}

func (w *why) configured() string {
	text := w.res.About.URL
	if m := w.res.About.Model; m != "" {
		text += " · " + m
	}
	if w.res.Counts.Planned > 0 {
		text += fmt.Sprintf(" · %s planned", plural(w.res.Counts.Planned, "request"))
	}
	return text
}

func (w *why) connected() string {
	text := "connections not observed"
	if n := w.res.Load.NewConnections; n != nil {
		text = plural(*n, "connection")
	}
	var to []string
	for _, m := range w.res.Remotes {
		to = append(to, m.Address)
	}
	if len(to) > 0 {
		text += " to " + join(to[:min(len(to), 3)], ", ")
	}
	return text
}

func (w *why) recorded() string {
	var parts []string
	if w.run.footer == nil {
		parts = append(parts, "no footer")
	} else if !ended(w.run.footer.Reason) {
		parts = append(parts, w.run.footer.Reason)
	}
	if f := w.res.About.Faults; len(f) > 0 {
		parts = append(parts, fmt.Sprintf("%s, the first: %s", plural(int64(len(f)), "fault"), f[0]))
	}
	if n := w.res.Counts.Unrecorded; n > 0 {
		parts = append(parts, fmt.Sprintf("%s without a line", plural(n, "planned request")))
	}
	return join(parts, "; ")
}

// next are the commands that go on from here. Of a run that was measured none
// sends a load by itself, but where nothing else can mend it.
func (w *why) next() {
	t := &w.t
	add := func(command, why string) {
		if !slices.ContainsFunc(t.Next, func(s Step) bool { return s.Command == command && command != "" }) {
			t.Next = append(t.Next, Step{command, why})
		}
	}
	report := "tokentape report " + w.at.Run
	switch t.Stage {
	case StageAnalysis:
		add(report, "makes the numbers again from the tape, and sends nothing; --format json --out results.json writes them")
		return
	case StageRecord:
		if w.res.About.Stop == tape.ReasonDisk || w.at.Log.stopped(tape.ReasonDisk) != "" {
			add("df -h "+w.at.Run, "is there room on the disk?")
		}
		add(report, "reads what is on the tape, and sends nothing")
	}
	for _, s := range w.failedSteps() {
		if s.Do != "" && !slices.ContainsFunc(t.Next, func(n Step) bool { return n.Why == s.Do }) {
			t.Next = append(t.Next, Step{Why: s.Do})
		}
	}
	if w.probeOnly() && t.State == StateFailed && w.at.Spec != "" {
		add("tokentape probe "+w.at.Spec, "the same probe again, once that is mended")
	}
	for _, f := range t.Failures {
		if f.Command != "" {
			add(f.Command, f.Do)
		}
	}
	for i, c := range t.Missed {
		if c.Severity == SeverityFail && c.Name != CheckFailures && t.Stage != StageRecord && (c.Name != "tape_complete" || len(t.Failures) == 0) {
			add(t.Evidence[i], c.Do)
		}
	}
	switch t.State {
	case StateFine, StateNotes:
		add(report, "the numbers")
	case StateStopped:
		add(report, "the numbers of what ended before; run again for the rest")
	default:
		add(report, "the numbers, with every missed check")
	}
}

// WhyNoRun is the Triage of a run of which there is a log alone.
func WhyNoRun(at Whereabouts) *Triage {
	t := &Triage{State: StateNoRun, Log: at.Log.Lines}
	last := at.Log.last()
	t.Stage, t.Line = at.Log.stage(), last
	switch code := at.Log.Code; {
	case at.Log.began():
		t.State, t.Stage, t.Line = StateNoTape, StageRecord, "run.log says that requests went out, and the tape is not beside it"
	case code == nil:
		t.Line = "run.log ends without an exit code: the process was killed, or is still at it; its last line: " + last
	case t.Stage == "" && *code == 130:
		t.State, t.Line = StateStopped, "the user stopped it before anything was sent"
	}
	t.Stages = logStages(t.Stage, last)
	t.Next = at.Log.next(t.Stage)
	return t
}

// WhyNoTape is the Triage of a tape that cannot be read, for err.
func WhyNoTape(at Whereabouts, err error) *Triage {
	t := &Triage{State: StateNoTape, Stage: StageRecord, Line: err.Error()}
	if at.Log != nil {
		t.Log = at.Log.worth()
	}
	for _, name := range Stages() {
		s := Stage{Name: name, State: StageUnknown, Text: "the tape would say"}
		if name == StageRecord {
			s.State, s.Text = StageBad, err.Error()
		}
		t.Stages = append(t.Stages, s)
	}
	t.Next = []Step{{"ls -l " + at.Run, "is the file whole? A tape is tape.jsonl.zst or tape.jsonl, and is only ever appended to"}}
	if strings.Contains(err.Error(), "update tokentape") {
		t.Next = []Step{{"", "update tokentape: a newer one wrote the tape"}}
	}
	return t
}

// WhyNoAnalysis is the Triage of a tape on which the analysis itself failed.
func WhyNoAnalysis(at Whereabouts, what string) *Triage {
	t := &Triage{State: StateFailed, Stage: StageAnalysis, Line: what, Unsaid: true}
	for _, name := range Stages() {
		s := Stage{Name: name, State: StageUnknown, Text: "the analysis would say"}
		if name == StageAnalysis {
			s.State, s.Text = StageBad, what
		}
		t.Stages = append(t.Stages, s)
	}
	t.Next = []Step{{"tokentape report " + at.Run, "makes the numbers again from the tape, and sends nothing: with another version, or on a machine with more memory. The tape is as it was"}}
	return t
}

// checkStages are the stages in which a check finds fault, the first first. That the
// client read late is about streams, that it sent late is about requests.
func (w *why) checkStages(name string) []string {
	if _, over := clientWaited(w.res); name == "client_bound" && over {
		if w.run.lateness(w.res).bound {
			return []string{StageRequest, StageStream}
		}
		return []string{StageStream}
	}
	return []string{checkStage(name)}
}

// checkStage is the stage in which a check finds fault.
func checkStage(name string) string {
	switch name {
	case "tape_complete", "tape_consistent", "counts_add_up", "merged_alike":
		return StageRecord
	case "client_limit":
		return StageConnect
	case "client_bound", "offered_rate", "failures", "failures_allowed", "slot_wait", "send_delay", "attempts", "server_changed":
		return StageRequest
	case "token_sources", "usage_contradicted", "usage_missing", "not_streamed", "output_short", "output_off_text", "bursts", "cache_state", "cache_off_plan":
		return StageStream
	}
	return StageConfiguration
}

func classes(n int) string {
	if n == 1 {
		return "1 other class"
	}
	return fmt.Sprintf("%d other classes", n)
}
