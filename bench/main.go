package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"tokentape/internal/clock"
	"tokentape/internal/provenance"
	"tokentape/tape"
)

func main() {
	if text := os.Getenv(roleEnv); text != "" {
		if err := play(text, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// report is the whole of a run of the suite, as it stands in JSON.
type report struct {
	Go     string    `json:"go"`
	Host   tape.Host `json:"host"`
	At     string    `json:"at"`
	Source string    `json:"source,omitempty"` // commit
	Tables []table   `json:"tables"`
	Goals  []goal    `json:"goals"`
	Failed []string  `json:"failed,omitempty"` // cases that could not be measured, and why
}

// settings are what the command line says.
type settings struct {
	options
	json          string
	guard, record string
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "go run ./bench [flags]\n\nMeasures tokentape beside a bare reference client. Cases:")
		for _, c := range cases {
			fmt.Fprintf(stderr, "  %-10s %s\n", c.name, c.about)
		}
		fmt.Fprintln(stderr, "\nFlags:")
		f.PrintDefaults()
	}
	var only string
	f.StringVar(&only, "only", "", "`cases` to run, with commas between them; none: all")
	f.BoolVar(&s.short, "short", false, "smaller loads: minutes in place of half an hour")
	f.IntVar(&s.pairs, "pairs", 7, "how often the clients take turns")
	f.StringVar(&s.json, "json", "", "write everything that was measured to this `file`")
	f.StringVar(&s.profile, "profile", "", "write a CPU profile of tokentape's newest run to this `file`, for go tool pprof")
	f.StringVar(&s.tokentape, "tokentape", "", "`binary` whose start is timed; none: it is built from the source")
	f.StringVar(&s.guard, "guard", "", "only measure CPU per event, and fail when its ratio to the reference is 25 % worse than in this `file`")
	f.StringVar(&s.record, "record", "", "only measure CPU per event, and write the ratio to this `file`, for -guard")
	f.Func("client", "another client to measure beside them: `NAME=command line` with {url} {streams} {requests} {events} {rate}; may be given more than once", func(text string) error {
		e, err := parseExternal(text)
		s.clients = append(s.clients, e)
		return err
	})
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("%q: no arguments are taken; the cases are chosen by -only", f.Arg(0))
	}
	if s.guard != "" && s.record != "" {
		return s, errors.New("-guard and -record: one of the two; what is recorded now cannot be worse than itself")
	}
	if s.pairs < 1 {
		return s, fmt.Errorf("-pairs %d: at least 1 is needed", s.pairs)
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(caseNames(), name) {
			return s, fmt.Errorf("-only %s: there is no such case; there are %s", name, strings.Join(caseNames(), ", "))
		}
		s.only = append(s.only, name)
	}
	return s, nil
}

// command is main but for the process. Its result is the exit status: 2 for wrong flags,
// 1 when a case could not be measured.
func command(args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if err == flag.ErrHelp {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	b := &bench{options: s.options, clk: clock.New(), log: stderr}
	if s.guard != "" || s.record != "" {
		if err = b.keep(s); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	r := report{Go: runtime.Version(), Host: provenance.Host("/", os.LookupEnv, b.clk.Wall()), At: b.clk.Wall().Format("2006-01-02T15:04:05Z")}
	for _, err := range b.run() {
		r.Failed = append(r.Failed, err.Error())
	}
	r.Tables, r.Goals = b.tables, b.goals
	r.print(stdout)
	if s.json != "" {
		if err := r.write(s.json); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
	}
	if len(r.Failed) > 0 {
		return 1
	}
	return 0
}

// keep guards or records.
func (b *bench) keep(s settings) error {
	if s.record != "" {
		return b.record(s.record, provenance.Host("/", os.LookupEnv, b.clk.Wall()))
	}
	return b.guard(s.guard)
}

func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r report) print(w io.Writer) {
	h := r.Host
	governor, virtual := h.Governor, ""
	if governor == "" {
		governor = "not observed"
	}
	if h.Hypervisor != "" {
		virtual = ", virtual (" + h.Hypervisor + ")"
	}
	fmt.Fprintf(w, "machine: %s, %d processors%s, %d MiB\n", h.CPUModel, h.Logical, virtual, h.Memory>>20)
	fmt.Fprintf(w, "  %s, kernel %s, clock source %s, governor %s, %d descriptors, load at the start %v\n", r.Go, h.Kernel, h.ClockSource, governor, h.NoFile, h.Load)
	for _, t := range r.Tables {
		t.print(w)
	}
	printGoals(w, r.Goals)
	for _, f := range r.Failed {
		fmt.Fprintf(w, "FAILED: %s\n", f)
	}
}
