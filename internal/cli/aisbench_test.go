package cli

import (
	"slices"
	"strings"
	"testing"
)

// Lists divided by blanks, and --reuse with and without a value, as AISBench's own
// parser takes them.
func TestAISBenchArgs(t *testing.T) {
	for _, c := range [][2]string{
		{"--models a b --datasets c --mode perf", "--models=a,b --datasets=c --mode perf"},
		{"--models=a config.py", "--models=a config.py"},
		{"perf.py --reuse 20261130_120000 -m perf_viz", "perf.py --reuse=20261130_120000 -m perf_viz"},
		{"perf.py -r 20261130_120000", "perf.py --reuse=20261130_120000"},
		{"--reuse latest perf.py", "--reuse=latest perf.py"},
		{"--reuse perf.py", "--reuse perf.py"},
		{"-r --mode perf_viz", "-r --mode perf_viz"},
		{"--models --mode perf", "--models= --mode perf"},
		{"", ""},
	} {
		if got := strings.Join(aisbenchArgs(strings.Fields(c[0])), " "); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// One that ended worse decides, in the order of docs/exit-codes.md.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  int
	}{{nil, 0}, {[]int{exitUnfit, exitFailures}, exitFailures}, {[]int{exitNothing, exitInterrupted, exitUnfit}, exitInterrupted}} {
		var e endings
		var out strings.Builder
		for _, code := range c.codes {
			e.add(&app{stderr: &out}, &exitError{code: code, msg: "because"})
		}
		got := 0
		if err := e.err(); err != nil {
			got = err.(*exitError).code
		}
		if got != c.want || strings.Count(out.String(), "because") != len(c.codes) || !slices.Equal(e.codes, c.codes) {
			t.Errorf("%v: %d, want %d; said %q", c.codes, got, c.want, out.String())
		}
	}
}
