package analysis

import (
	"fmt"
	"slices"

	"tokentape/tape"
)

// A probe by itself has no plan and measures nothing: its steps say how it went.

// failedSteps are the steps of looking at the server that failed.
func (w *why) failedSteps() []ProbeStep {
	if w.res.Probe == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.res.Probe.Steps), func(s ProbeStep) bool { return s.Result != tape.StepFailed })
}

// probeOnly reports a probe by itself.
func (w *why) probeOnly() bool { return w.res.Probe != nil && w.res.Probe.Only }

// answersOfProbe takes refusals that answered a question of the probe out of the
// failures: the step says that it went well.
func (w *why) answersOfProbe() {
	for i := range w.run.steps {
		s := &w.run.steps[i]
		if !s.Request.OK || s.Result == tape.StepFailed {
			continue
		}
		for j := range w.seen.ends {
			if e := &w.seen.ends[j]; e.seq == s.Request.V && e.class != nil {
				e.class.count--
				if e.class.phases[tape.PhaseProbe]--; e.class.phases[tape.PhaseProbe] <= 0 {
					delete(e.class.phases, tape.PhaseProbe)
				}
				e.class = nil
			}
		}
	}
}

// judgeProbe is judge of a probe with a step that failed. The first of them decides.
func (w *why) judgeProbe(failed []ProbeStep) {
	t, s := &w.t, failed[0]
	t.State, t.Stage = StateFailed, w.stepStage(s)
	t.Line = fmt.Sprintf("step %q failed: %s", s.Name, s.Seen)
	if s.Request != "" && len(t.Failures) > 0 {
		t.Line = w.failuresLine()
	} else if n := int64(len(failed) - 1); n > 0 {
		t.Line += fmt.Sprintf("; and %s after it", plural(n, "step"))
	}
}

// stepStage is where a step that failed went wrong.
func (w *why) stepStage(s ProbeStep) string {
	switch {
	case s.Name == "resolve", s.Name == "connect", s.Name == "tls":
		return StageConnect
	case s.Request == "" && s.Status == nil: // a connection, and no answer
		return StageRequest
	case len(w.t.Failures) > 0 && s.Request != "":
		return w.t.Failures[0].Stage
	}
	return StageConfiguration
}

// probeStages are stages of a probe by itself. What a step that failed ruled out is
// not observed.
func (w *why) probeStages(failed []ProbeStep) []Stage {
	texts := map[string]string{StageConfiguration: w.configured(), StageConnect: "not observed"}
	conns := map[int64]bool{}
	var ok, came, sent int64
	for i := range w.seen.ends {
		e := &w.seen.ends[i]
		if sent++; e.conn > 0 {
			conns[e.conn] = true
		}
		if e.ok {
			ok++
		}
		if e.ok || e.status != 0 {
			came++
		}
	}
	for _, s := range w.res.Probe.Steps {
		if s.Name == "connect" && s.Result == tape.StepOK {
			texts[StageConnect] = "connected to " + s.Seen
		}
	}
	if n := int64(len(conns)); n > 1 {
		texts[StageConnect] += fmt.Sprintf(", %s for the requests", plural(n, "connection"))
	}
	texts[StageRequest] = fmt.Sprintf("%s of the probe went out; none is measured", plural(sent, "request"))
	texts[StageStream] = fmt.Sprintf("%s of %s ended well", thousands(ok), plural(came, "answer"))
	bad := map[string][]string{}
	for _, s := range failed {
		if s.Request == "" {
			bad[w.stepStage(s)] = append(bad[w.stepStage(s)], s.Name+": "+s.Seen)
		}
	}
	for _, f := range w.t.Failures {
		bad[f.Stage] = append(bad[f.Stage], fmt.Sprintf("%s %s", thousands(f.Count), f.Class))
	}
	var out []Stage
	for _, name := range Stages()[:4] {
		s := Stage{Name: name, State: StageOK, Text: texts[name]}
		switch found := bad[name]; {
		case len(found) > 0:
			s.State, s.Text = StageBad, join(found, ", ")
		case name == StageConnect && texts[name] == "not observed":
			s.State = StageUnknown
		case name == StageRequest && sent == 0, name == StageStream && came == 0:
			s.State, s.Text = StageUnknown, "it did not come to this"
		case name == StageStream && ok == 0:
			s.State, s.Text = StageUnknown, fmt.Sprintf("%s, none with output", plural(came, "answer"))
		}
		out = append(out, s)
	}
	return out
}
