package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/clock"
)

// fakeEnv makes the test binary a stand-in for tokentape whose start is timed.
const fakeEnv = "TOKENTAPE_BENCH_FAKE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		main()
		return
	}
	if os.Getenv(fakeEnv) != "" && len(os.Args) > 1 && (os.Args[1] == "--help" || os.Args[1] == "demo") {
		fakeTokentape(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

func fakeTokentape(args []string) {
	if args[0] == "--help" {
		return
	}
	dir := filepath.Join(args[2], "demo", "t", "one", "t")
	err := errors.Join(os.MkdirAll(dir, 0o755), makeTape(filepath.Join(dir, "tape.jsonl.zst"), 3))
	fmt.Fprintln(os.Stderr, cmp.Or(fmt.Sprint(err), ""), "━━ 2 of 3")
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {} // as the demo, which goes on until it is killed
}

// Every case at a tiny size: it runs, nothing fails, both clients have their rows, and
// all of it can be printed and written.
func TestCases(t *testing.T) {
	t.Setenv(fakeEnv, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var log, out bytes.Buffer
			b := &bench{options: options{only: []string{c.name}, tiny: true, pairs: 1, tokentape: exe}, clk: clock.New(), log: &log, out: &out}
			if failed := b.run(); len(failed) > 0 {
				t.Fatalf("%v\n%s", failed, &log)
			}
			if len(b.tables) != 1 || len(b.tables[0].Rows) == 0 || len(b.tables[0].Notes) == 0 {
				t.Fatalf("%+v", b.tables)
			}
			seen := map[string]int{}
			for _, row := range b.tables[0].Rows {
				if name, ok := row["client"].(string); ok {
					seen[name]++
				}
				for key := range row {
					if !hasColumn(b.tables[0], key) && !strings.HasSuffix(key, "_pairs") {
						t.Errorf("no column shows %q", key)
					}
				}
			}
			if len(seen) > 0 && (seen[nameOurs] == 0 || seen[nameOurs] != seen[nameBare]) {
				t.Errorf("rows of clients: %v", seen)
			}
			for _, k := range b.kept {
				watched := slices.Contains([]string{"pace"}, c.name)
				if (k.Speed != nil) != watched || k.Sent.Dues != nil || watched && (k.Speed.Looks == 0 || k.Sent.Lag == nil || k.LagAtSpeed == nil && k.AtSpeed > 0) {
					t.Errorf("%s of %s: watched %+v, at speed %g: %+v", k.What, k.Client, k.Speed, k.AtSpeed, k.LagAtSpeed)
				}
			}
			r := report{Tables: b.tables, Goals: b.goals, Runs: b.kept}
			r.printMachine(&out)
			r.printEnd(&out)
			if !strings.Contains(out.String(), c.name+" · ") || strings.Contains(out.String(), "NaN") {
				t.Errorf("printed:\n%s", &out)
			}
			path := filepath.Join(t.TempDir(), "r.json")
			if err := r.write(path); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(path)
			var back report
			if err := json.Unmarshal(text, &struct {
				Tables *[]table `json:"tables"`
			}{&back.Tables}); err != nil || len(back.Tables) != 1 || len(back.Tables[0].Rows) != len(b.tables[0].Rows) {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

func hasColumn(t table, key string) bool {
	for _, c := range t.Columns {
		if c.Key == key {
			return true
		}
	}
	return false
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // of the error; "": none
	}{
		{nil, ""},
		{[]string{"-short", "-only", "cpu, fidelity", "-pairs", "3", "-json", "x"}, ""},
		{[]string{"-client", "mine=mine --url {url}"}, ""},
		{[]string{"-only", "speed"}, "-only speed: there is no such case; there are cpu, fidelity"},
		{[]string{"-pairs", "0"}, "-pairs 0: at least 1"},
		{[]string{"cpu"}, `"cpu": no arguments are taken`},
		{[]string{"-guard", "a", "-record", "b"}, "-guard and -record"},
		{[]string{"-client", "mine"}, "NAME='command line' is needed"},
		{[]string{"-client", "bare=x {url}"}, "that name is taken"},
		{[]string{"-client", "mine=x --n {requests}"}, "has no {url}"},
	} {
		s, err := parse(c.args, io.Discard)
		if c.want == "" {
			if err != nil {
				t.Errorf("%v: %v", c.args, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q; %+v", c.args, err, c.want, s)
		}
	}
	s, _ := parse([]string{"-only", "cpu, fidelity", "-short", "-client", "a=b {url}", "-client", "c=d {url}"}, io.Discard)
	if fmt.Sprint(s.only) != "[cpu fidelity]" || !s.short || s.pairs != 7 || len(s.clients) != 2 || s.clients[1] != (external{"c", "d {url}"}) {
		t.Errorf("%+v", s)
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); err != flag.ErrHelp || !strings.Contains(help.String(), "fidelity") {
		t.Errorf("%v\n%s", err, &help)
	}
	if code := command([]string{"-pairs", "x"}, io.Discard, io.Discard); code != 2 {
		t.Errorf("status %d", code)
	}
}

func TestExternalLine(t *testing.T) {
	e := external{"x", "x -u {url} -c {streams} -n {requests} -t {events} -r {rate}"}
	for _, c := range []struct {
		l    load
		want string
	}{
		{load{URL: "http://h", Requests: 7, Concurrency: 3, Events: 5}, "x -u http://h -c 3 -n 7 -t 5 -r 0"},
		{load{URL: "http://h", Requests: 7, Rate: 2.5, Events: 1}, "x -u http://h -c 1 -n 7 -t 1 -r 2.5"},
	} {
		if got := e.line(c.l); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Another client is measured by what the server saw; one that does less than it was
// asked, or fails, is an error and no figure.
func TestExternal(t *testing.T) {
	b := &bench{options: options{tiny: true, pairs: 1}, clk: clock.New(), log: io.Discard}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bareOf := func(requests int64) string {
		text, _ := json.Marshal(role{Bare: &load{URL: "{url}", Requests: requests, Concurrency: 2, Events: 4}})
		return roleEnv + "='" + string(text) + "' '" + exe + "'"
	}
	one := trial{serve: serving{Events: 4}, load: load{Requests: 6, Concurrency: 2, Events: 4}}
	b.clients = []external{{"other", bareOf(6)}}
	all, err := b.take("x", 2, one, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := all["other"]; len(got) != 2 || got[0].Sent.OK != 6 || got[0].Sent.CPU <= 0 || got[0].Sent.RSS <= 0 || fmt.Sprint(b.names(all)) != "[tokentape bare other]" {
		t.Errorf("%+v", all)
	}
	for command, want := range map[string]string{bareOf(5): "5 of 6 answers", "echo so; exit 3 # {url}": "exit status 3; it said: so"} {
		if _, err := one.runExternal(external{"other", command}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

func TestGuard(t *testing.T) {
	was := recorded{CPURatio: 2}
	of := func(medians, median, least float64) ratio {
		return ratio{OfMedians: medians, Median: median, OfLeast: least}
	}
	for _, c := range []struct {
		now ratio
		ok  bool
	}{
		{of(2, 2, 2), true},
		{of(2.5, 2.5, 2.5), true},
		{of(2.51, 2.51, 2.51), false},
		{of(9, 2.4, 9), true}, // one way to read it says that nothing is worse
		{of(9, 9, 2.4), true},
		{of(2.4, 9, 9), true},
		{of(0.5, 0.5, 0.5), true},
		{of(math.NaN(), 2, 2), false},
	} {
		if _, limit, ok := was.judge(c.now); ok != c.ok || limit != 2.5 {
			t.Errorf("%+v: %t, limit %g", c.now, ok, limit)
		}
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "-record", file("broken", "{"): "holds no ratio", file("zero", "{}"): "holds no ratio",
		file("strict", `{"cpu_ratio":0.01}`): "an event costs the client more than it did",
		file("wide", `{"cpu_ratio":1000}`):   "",
	} {
		b := &bench{options: options{tiny: true, pairs: 1}, clk: clock.New(), log: io.Discard}
		err := b.guard(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// The file that .ci/run holds the client against can be read.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil || r.CPURatio < 0.5 || r.CPUModel == "" || r.Pairs < guardPairs {
		t.Errorf("%+v, %v", r, err)
	}
}
