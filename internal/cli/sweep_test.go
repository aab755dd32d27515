package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokentape/internal/spec"
	"tokentape/internal/sweep"
)

// placesOf are the points that --over gives.
func placesOf(t testing.TB, over ...string) (string, error) {
	sets, err := overSets(over)
	if err != nil {
		return "", err
	}
	s, issues := spec.Read("", nil, sets)
	for _, i := range issues {
		if !i.Warning {
			return "", i
		}
	}
	places, err := sweep.Expand(s)
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range places {
		names = append(names, p.Name)
	}
	return strings.Join(names, " "), nil
}

func TestOver(t *testing.T) {
	for _, c := range []struct{ over, want string }{
		{"load.concurrency=1,2,4", "c1 c2 c4"},
		{" load.concurrency = 1, 2 ", "c1 c2"},
		{"load.rate=1..16/5log", "r1 r2 r4 r8 r16"},
		{"load.rate=0.5..1.5/3", "r0.5 r1 r1.5"},
		{"target.model=org/a,b: c", "org_a b__c"},
		{"workload.dataset.path=../a.jsonl,b.jsonl", "a b"},
		{"target.url=http://h:1/v1,h:2", "h_1_v1 h_2"},
		{`{fields: [load.rate, load.warmup], values: [[1, 2], [3, 4]]}`, "r1-warmup_2 r3-warmup_4"},
	} {
		if got, err := placesOf(t, c.over); got != c.want || err != nil {
			t.Errorf("%s: %s, want %s (%v)", c.over, got, c.want, err)
		}
	}
	for over, want := range map[string]string{
		"load.concurrency": "no values", "load.concurrency=": "no values", "load.rate=1..2": "how many values", "load.rate=2..1/3": "not below",
		"load.rate=0..1/3log": "equal ratios", "load.concurrency=1,x": "whole number", "laod.rate=1": "did you mean load.rate", "load=1": "no single value",
		"target.headers.X-Key=a": "stand in the table", "load.concurrency=1.5..3/2": "whole numbers alone",
	} {
		_, err := placesOf(t, over)
		var e *exitError
		text := ""
		if errors.As(err, &e) {
			text = strings.Join(append(e.hints, e.msg), " ")
		} else if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", over, text, want)
		}
	}
}

func FuzzOver(f *testing.F) {
	for _, s := range []string{"load.concurrency=1,2", "load.rate=1..16/5log", "{field: x, values: [1]}", "a=\"b,c", "load.rate=1e9..1e300/3", "=,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, over string) {
		_, _ = placesOf(t, over) // neither panics nor hangs
	})
}

func TestLeftTime(t *testing.T) {
	second := func(n float64) time.Duration { return time.Duration(n * 1e9) }
	s := &series{base: spec.Default()}
	s.base.Sweep.Pause = spec.Duration(time.Second)
	s.tries = []*tried{
		{load: spec.Load{Requests: 10, Concurrency: 1}},
		{load: spec.Load{Requests: 40, Concurrency: 2}},
		{time: second(30), load: spec.Load{Rate: 2, Requests: 60}},
	}
	var l leftTime
	if got := l.text(s, []int{0, 1}); got != "" {
		t.Errorf("before the first point: %q", got)
	}
	if got := l.text(s, []int{2}); got != "about 30 s" {
		t.Errorf("an open loop: %q", got)
	}
	l.add(s.tries[0], ended{code: exitFit, took: second(20)}) // 2 s a request in its slot
	if got := l.text(s, []int{1, 2}); got != "about 1:11 min" {
		t.Errorf("after the first: %q", got)
	}
	l.add(s.tries[2], ended{code: exitUnfit, took: second(34)})
	if got := l.text(s, []int{1, 2}); got != "about 1:15 min" {
		t.Errorf("with what points take beside: %q", got)
	}
	l.add(s.tries[1], ended{code: exitNothing, took: second(500)})
	if got := l.text(s, []int{2}); got != "about 34 s" {
		t.Errorf("a point that failed says nothing: %q", got)
	}
}

// TestSetKeyTellsSourcesApart: points share the reading of a dataset only where its
// items are the same.
func TestSetKeyTellsSourcesApart(t *testing.T) {
	of := func(change func(*spec.Spec)) string {
		s := spec.Default()
		s.Workload.Dataset.Path = filepath.Join(os.TempDir(), "a.jsonl")
		change(s)
		return setKey(s)
	}
	same := of(func(*spec.Spec) {})
	for name, change := range map[string]func(*spec.Spec){
		"path": func(s *spec.Spec) { s.Workload.Dataset.Path = "b" }, "template": func(s *spec.Spec) { s.Workload.Template = "{q}" },
		"system": func(s *spec.Spec) { s.Workload.System = "x" }, "api": func(s *spec.Spec) { s.Target.API = "tgi" },
		"sampling": func(s *spec.Spec) { s.Workload.Sampling = map[string]any{"n": 2} }, "seed": func(s *spec.Spec) { s.Seeds.Run = 2 },
		"filter": func(s *spec.Spec) { s.Workload.Dataset.Filter = map[string]any{"a": "b"} }, "skip": func(s *spec.Spec) { s.Workload.Dataset.Skip = 1 },
	} {
		if of(change) == same {
			t.Errorf("%s: the same source", name)
		}
	}
	for name, change := range map[string]func(*spec.Spec){
		"load": func(s *spec.Spec) { s.Load.Concurrency = 8 }, "model": func(s *spec.Spec) { s.Target.URL = "h:1" },
	} {
		if of(change) != same {
			t.Errorf("%s: another source", name)
		}
	}
}

// TestOverIsMasked: a secret that was to vary is refused, and is in no log all the same.
func TestOverIsMasked(t *testing.T) {
	for _, args := range [][]string{
		{"sweep", "--over", "target.api_key=hush-1,hush-2"}, {"sweep", "--over=target.headers.X-Key=hush-1"},
		{"sweep", "--over", "{field: target.api_key, values: [hush-1]}"},
	} {
		shown, _ := maskWords(args)
		if text := strings.Join(shown, " "); strings.Contains(text, "hush") {
			t.Errorf("%q", text)
		}
		sets, err := overSets([]string{strings.TrimPrefix(args[len(args)-1], "--over=")})
		if err != nil {
			t.Fatal(err)
		}
		_, issues := spec.Read("", nil, sets)
		if !spec.Failed(issues) {
			t.Errorf("%v: a secret varies", args)
		}
		for _, i := range issues {
			if strings.Contains(i.Format(), "hush") {
				t.Error(i.Format())
			}
		}
	}
	shown, _ := maskWords([]string{"--over", "load.rate=1..16/5", "--over", "{field: load.rate, values: [1]}"})
	if text := strings.Join(shown, " "); text != "--over load.rate=1..16/5 --over {field: load.rate, values: [1]}" {
		t.Errorf("%q", text)
	}
}

// TestEndingOfAllPoints: a sweep that is taken up ends as all of its points did.
func TestEndingOfAllPoints(t *testing.T) {
	exit := func(code int) *int { return &code }
	for _, c := range []struct {
		before *int
		state  string
		now    []int
		want   int
	}{
		{exit(exitUnfit), sweep.Done, []int{exitFit}, exitUnfit},
		{exit(exitUnfit), sweep.Done, []int{exitFailures}, exitFailures},
		{exit(exitUnfit), sweep.Done, []int{exitInterrupted}, exitInterrupted},
		{exit(exitNothing), sweep.Failed, []int{exitFit}, exitFit}, // run again by now
		{nil, sweep.NotRun, []int{exitFit}, exitFit},
		{exit(exitFit), sweep.Done, []int{exitFit}, exitFit},
	} {
		s := &series{codes: c.now, mine: map[int]bool{1: true}, m: &sweep.Manifest{Points: []sweep.Point{
			{Name: "c1", State: c.state, Exit: c.before}, {Name: "c2", State: sweep.Done, Exit: exit(exitMissed)},
		}}}
		got := exitFit
		var e *exitError
		if errors.As(s.ending(), &e) {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestFolderError: of a run among others no other place can be asked for.
func TestFolderError(t *testing.T) {
	var e *exitError
	if errors.As((runOptions{}).folderError(errors.New("full")), &e); e.code != exitUsage || !strings.Contains(e.hints[0], "--out") {
		t.Errorf("%+v", e)
	}
	if errors.As((runOptions{dir: "d"}).folderError(errors.New("full")), &e); e.code != exitInternal || strings.Contains(e.hints[0], "--out") {
		t.Errorf("%+v", e)
	}
}
