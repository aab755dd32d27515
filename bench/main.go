package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/doctor"
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
	At    string       `json:"at"`
	Go    string       `json:"go"`
	Host  tape.Host    `json:"host"`  // as it was at the start
	Speed doctor.Speed `json:"speed"` // right after that
	// Others are cores busy with other work meanwhile; null: not observed.
	Others  tape.Opt[float64] `json:"other_cores"`
	LoadEnd []float64         `json:"load_end"`
	Source  *tape.Source      `json:"source"`
	Short   bool              `json:"short"`
	Tables  []table           `json:"tables"`
	Goals   []goal            `json:"goals"`
	Failed  []string          `json:"failed,omitempty"` // cases that could not be measured, and why
	Runs    []keptRun         `json:"runs"`
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
	b := &bench{options: s.options, clk: clock.New(), log: stderr, out: stdout}
	if s.guard != "" || s.record != "" {
		if err = b.keep(s); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	host := func() tape.Host { return provenance.Host("/", os.LookupEnv, b.clk.Wall()) }
	r := report{At: b.clk.Wall().Format("2006-01-02T15:04:05Z"), Go: runtime.Version(), Host: host(), Source: provenance.Source(context.Background(), "."), Short: s.short}
	if err := r.look(b.clk); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	r.printMachine(stdout)
	for _, err := range b.run() {
		r.Failed = append(r.Failed, err.Error())
	}
	r.Tables, r.Goals, r.Runs, r.LoadEnd = b.tables, b.goals, b.kept, host().Load
	r.printEnd(stdout)
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

// look finds how fast the machine is, and what else it does.
func (r *report) look(clk *clock.Clock) (err error) {
	at := doctor.Readings{Host: r.Host, Before: doctor.Count("/")}
	cpu, begin := processCPU(), clk.Now()
	if r.Speed, err = doctor.Full(context.Background(), clk, 3*time.Second); err != nil {
		return err
	}
	at.After, at.Took = doctor.Count("/"), time.Duration(clk.Now()-begin)
	at.CPU = float64(processCPU()-cpu) / float64(at.Took)
	r.Others = at.OtherCores()
	return nil
}

// printOthers warns where no figure is the client's alone.
func (r report) printOthers(w io.Writer) {
	if doctor.Crowded(r.Others, r.Host.CPUs) {
		fmt.Fprintf(w, "  BUSY: %.1f of %d cores had other work before the first case; what stands here is that work's, too, ratios not left out\n", r.Others.V, r.Host.CPUs)
	}
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

// printMachine writes the facts of the machine, before anything is measured.
func (r report) printMachine(w io.Writer) {
	h := r.Host
	governor, virtual := h.Governor, ""
	if governor == "" {
		governor = "not observed"
	}
	if h.Hypervisor != "" {
		virtual = ", virtual (" + h.Hypervisor + ")"
	}
	fmt.Fprintf(w, "machine: %s, %d processors%s, %d MiB\n", h.CPUModel, h.Logical, virtual, h.Memory>>20)
	fmt.Fprintf(w, "  %s, kernel %s, clock source %s, governor %s, %d descriptors\n", r.Go, h.Kernel, h.ClockSource, governor, h.NoFile)
	others := "other work not observed"
	if r.Others.OK {
		others = fmt.Sprintf("%.2f cores busy with other work", r.Others.V)
	}
	fmt.Fprintf(w, "  load averages at the start %v, %s\n  %s\n", h.Load, others, r.Speed)
	r.printOthers(w)
	if s := r.Source; s != nil && s.Commit != "" {
		changed := ""
		if s.Changed.V > 0 {
			changed = fmt.Sprintf(", %d files changed since", s.Changed.V)
		}
		fmt.Fprintf(w, "  commit %.12s%s\n", s.Commit, changed)
	}
}

// printEnd writes what stands below the tables.
func (r report) printEnd(w io.Writer) {
	if printGoals(w, r.Goals); len(r.Goals) > 0 {
		r.printOthers(w)
	}
	fmt.Fprintf(w, "\nload averages at the end %v\n", r.LoadEnd)
	for _, f := range r.Failed {
		fmt.Fprintf(w, "FAILED: %s\n", f)
	}
}
