package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/tape"
)

func readLog(t *testing.T, dir string) (string, *analysis.RunLog) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	l, err := analysis.ParseRunLog(string(b))
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if n := strings.Count(string(b), "\n"); n != len(l.Lines) {
		t.Errorf("%d lines, of which %d can be read:\n%s", n, len(l.Lines), b)
	}
	return string(b), l
}

// What is written is bounded, whole lines of the form that is read, without
// secrets, also those of before the secrets were known.
func TestRunLogIsBoundedAndMasked(t *testing.T) {
	dir := t.TempDir()
	l := newRunLog([]string{"run", "--api-key", "sk-firstsecret-0123", "--set", "target.headers.X-Team=hidden-team-name", "--url", "http://user:passw0rd@host/v1?token=tok-0123456789"})
	l.say("note", "the key is sk-later-secret-0123456789")
	l.hide([]string{"sk-later-secret-0123456789"})
	if err := l.open(&runDir{dir}); err != nil {
		t.Fatal(err)
	}
	cfg := run.Config{Clock: clock.New()}
	l.follow(&cfg)
	cfg.Said(run.Said{T: -5, Kind: run.SaidBegin, Text: "t = 0"})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 200 {
				cfg.Ended(run.Ended{T: int64(k), Seq: int64(i*200 + k), Phase: tape.PhaseMeasure, Outcome: tape.OutcomeStatus, Status: 400 + k%100, Attempts: 2,
					Message: "a\nb\x1b[2J sk-firstsecret-0123 " + strings.Repeat("x", 5000)})
			}
		})
	}
	wg.Wait()
	l.sampled(&tape.ClientSample{T: 7, Queue: slowQueue})
	l.end("", &exitError{code: 5, msg: "first\nsecond", hints: []string{"mend it"}})
	l.end("", nil) // nothing is written behind the end
	cfg.Ended(run.Ended{Outcome: tape.OutcomeReset})
	text, log := readLog(t, dir)
	for _, secret := range []string{"firstsecret", "later-secret", "hidden-team", "passw0rd", "tok-0123456789"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s stands in the log", secret)
		}
	}
	if len(text) > 1<<20 || len(log.Lines) > 600 {
		t.Errorf("%d bytes in %d lines", len(text), len(log.Lines))
	}
	last := log.Lines[len(log.Lines)-1]
	if log.Code == nil || *log.Code != 5 || last.Kind != "exit" || last.Text != "5: first;second → mend it" {
		t.Errorf("it ends with %+v", last)
	}
	kinds := map[string]int{}
	for _, line := range log.Lines {
		kinds[line.Kind]++
		if line.Kind != "start" && line.Kind != "note" && line.T == nil {
			t.Errorf("no time: %+v", line)
		}
	}
	if kinds["failure"] == 0 || kinds["retry"] != logEach || kinds["recorder"] != 1 || kinds["more"] == 0 {
		t.Errorf("%v", kinds)
	}
}

// A run that never began leaves its log in place of that of the last such run; one
// that is of a series leaves its lines in the log of that.
func TestLogOfRunThatNeverBegan(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	for i := range 2 {
		l := newRunLog([]string{"run", fmt.Sprint(i)})
		l.end(out, errors.New("no"))
	}
	text, log := readLog(t, out)
	if strings.Contains(text, "run 0") || len(log.Lines) != 2 || *log.Code != exitInternal {
		t.Errorf("%s", text)
	}
	series := t.TempDir()
	of := newRunLog([]string{"run", "--repeat", "2"})
	if err := of.open(&runDir{series}); err != nil {
		t.Fatal(err)
	}
	one := newRunLog(nil)
	one.into = of
	one.say("preflight", "failed: refused")
	one.end("", &exitError{code: exitNothing, msg: "refused"})
	of.end("", nil)
	if text, _ := readLog(t, series); !strings.Contains(text, "preflight  failed: refused") || strings.Count(text, " start ") != 2 {
		t.Errorf("%s", text)
	}
	if err := newRunLog(nil).open(&runDir{series}); err == nil {
		t.Error("a log was written over")
	}
}

// Nothing is kept without a log.
func TestNoLog(t *testing.T) {
	var l *runLog
	l.say("note", "x")
	l.hide([]string{"x"})
	l.at(1, "note", "note", "x")
	if err := l.open(nil); err != nil {
		t.Error(err)
	}
	l.ended(run.Ended{})
	l.sampled(&tape.ClientSample{Queue: slowQueue})
	cfg := run.Config{}
	if l.follow(&cfg); cfg.Said != nil || cfg.Ended != nil {
		t.Error("a run is followed")
	}
	l.end("", nil)
}
