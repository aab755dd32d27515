package analysis

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RunLog is run.log as read.
type RunLog struct {
	Lines []LogLine
	// Code is the exit code of the command; nil: it had none by then.
	Code *int
}

// LogLine is an event of run.log.
type LogLine struct {
	Wall string   `json:"wall"` // RFC 3339, UTC
	T    *float64 `json:"t_s"`  // seconds since t = 0; absent before it was known
	Kind string   `json:"kind"`
	Text string   `json:"text"`
}

// logLine is wall time, t or "-", kind and text.
var logLine = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) +(-|[+-]\d+\.\d+) +([a-z]+) +(.*)$`)

// mostLogLines bounds what is read of a log.
const mostLogLines = 10_000

// ParseRunLog reads run.log. Lines that are none of its own are left out; a text
// without a single one is an error.
func ParseRunLog(text string) (*RunLog, error) {
	l := &RunLog{}
	for line := range strings.Lines(text) {
		m := logLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || len(l.Lines) >= mostLogLines {
			continue
		}
		if _, err := time.Parse(time.RFC3339, m[1]); err != nil {
			continue
		}
		at := LogLine{Wall: m[1], Kind: m[3], Text: strings.TrimSpace(m[4])}
		if t, err := strconv.ParseFloat(m[2], 64); err == nil {
			at.T = &t
		}
		l.Lines = append(l.Lines, at)
		if at.Kind == "exit" {
			code, _, _ := strings.Cut(at.Text, ":")
			if n, err := strconv.Atoi(code); err == nil {
				l.Code = &n
			}
		}
	}
	if len(l.Lines) == 0 {
		return nil, errors.New("no line of it is one of a run.log")
	}
	return l, nil
}

// worth are the lines that say more than the tape: how it began, what went wrong
// beside the requests, how it ended.
func (l *RunLog) worth() []LogLine {
	var out []LogLine
	for _, line := range l.Lines {
		switch line.Kind {
		case "start", "stop", "drain", "interrupt", "abort", "recorder", "analysis", "files", "warning", "exit":
			out = append(out, line)
		}
	}
	return out
}

// last is what the last line says, of an exit without its code.
func (l *RunLog) last() string {
	line := l.Lines[len(l.Lines)-1]
	text := line.Text
	if line.Kind == "exit" {
		if _, rest, ok := strings.Cut(text, ": "); ok {
			text = rest
		}
	}
	text, _, _ = strings.Cut(text, " → ")
	return text
}

// stage is where a run that never began went wrong; "" where the log does not say.
// By docs/exit-codes.md: 2 is usage, spec or input; 3 is the server, which either
// answered or could not be reached; 1 is the disk, or a fault of tokentape.
func (l *RunLog) stage() string {
	if l.Code == nil {
		return ""
	}
	switch *l.Code {
	case 1:
		return StageRecord
	case 2:
		return StageConfiguration
	case 3:
		if strings.Contains(l.Lines[len(l.Lines)-1].Text, ": status ") {
			return StageConfiguration
		}
		return StageConnect
	}
	return ""
}

// stopped is why the run stopped, if for one of these reasons.
func (l *RunLog) stopped(reasons ...string) string {
	if l == nil {
		return ""
	}
	for _, line := range l.Lines {
		if reason, why, _ := strings.Cut(line.Text, ": "); line.Kind == "stop" && slices.Contains(reasons, reason) {
			return why
		}
	}
	return ""
}

// began reports that requests may have gone out.
func (l *RunLog) began() bool {
	return slices.ContainsFunc(l.Lines, func(line LogLine) bool { return line.Kind == "begin" })
}

func logStages(bad, text string) []Stage {
	var out []Stage
	state := StageOK
	for _, name := range Stages() {
		s := Stage{Name: name, State: state}
		if bad == "" {
			s.State = StageUnknown
		}
		if name == bad {
			s.State, s.Text = StageBad, text
			state = StageUnknown
		} else if s.State == StageUnknown {
			s.Text = "it did not come to this"
		}
		out = append(out, s)
	}
	return out
}

// next are the hints that the command gave when it ended, and how to look closer.
func (l *RunLog) next(stage string) []Step {
	var out []Step
	exit := l.Lines[len(l.Lines)-1]
	parts := strings.Split(exit.Text, " → ")
	if exit.Kind == "exit" {
		for _, hint := range parts[1:] {
			out = append(out, Step{Why: hint})
		}
	}
	command := ""
	for _, line := range l.Lines {
		if _, rest, ok := strings.Cut(line.Text, ": tokentape "); ok && line.Kind == "start" {
			command = "tokentape " + rest
		}
	}
	if command != "" {
		why := "nothing was sent, so nothing is lost: the same command again once that is mended"
		if strings.Contains(command, "***") {
			why += ", with what *** stands for"
		}
		out = append(out, Step{command, why})
	}
	return out
}
