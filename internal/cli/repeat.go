package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/clock"
	"tokentape/internal/report"
)

// repeatOptions say how often a run is made, and against what.
type repeatOptions struct {
	times   int    // of each side; 0: a single run as ever
	against string // spec file or URL of the other side; "": none
	reseed  bool   // another seed for each repeat
}

func (o *repeatOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.against, "against", "", "spec or URL of another side: both are run in turns, and compared at the end")
	cmd.Flags().BoolVar(&o.reseed, "reseed", false, "another plan for each repeat (seeds.run + 0, 1, 2 …); default: the same one")
	cmd.Flags().Lookup("repeat").Usage += "; or a number K: the whole run K times, each with a tape of its own (beside it: --set workload.repeat=cycle)"
}

// resolve takes a number off --repeat, which otherwise is workload.repeat.
func (o *repeatOptions) resolve(f *specFlags) error {
	if flag := f.cmd.Flags().Lookup("repeat"); flag.Changed {
		if k, err := strconv.Atoi(strings.TrimSpace(flag.Value.String())); err == nil {
			if k < 1 || k > 1000 {
				return usageError(fmt.Sprintf("--repeat %d: from 1 to 1000 times", k), "five or more a side carry a rank test: --repeat 5")
			}
			o.times, flag.Changed = k, false
		}
	}
	switch {
	case o.times == 0 && o.against != "":
		o.times = 1
	case o.times == 0 && o.reseed:
		return usageError("--reseed has no effect without --repeat K", "--repeat 5 --reseed")
	}
	return nil
}

// repeatSide is one of the specs that take turns.
type repeatSide struct {
	name  string // "" when there is one alone, else a, b
	args  []string
	flags specFlags
	next  int
}

// repeatOrder is which side runs when: every round has each side once, and as many
// rounds begin with one as with the other (one more when their number is odd), drawn
// by the seed, so that no drift and no period of the machine falls on one side.
func repeatOrder(rounds, sides int, seed int64) []int {
	r := rand.New(rand.NewPCG(uint64(seed), 0x746f6b656e))
	first := make([]int, rounds)
	start := r.IntN(sides)
	for i := range first {
		first[i] = (start + i) % sides
	}
	r.Shuffle(rounds, func(i, j int) { first[i], first[j] = first[j], first[i] })
	var out []int
	for _, f := range first {
		for k := range sides {
			out = append(out, (f+k)%sides)
		}
	}
	return out
}

// repeat makes the runs one after the other below one folder. Its exit code is the
// first of the runs' in the order of docs/exit-codes.md. What makes further runs
// pointless ends it.
func (a *app) repeat(ctx context.Context, args []string, f *specFlags, o runOptions, r repeatOptions) error {
	if r.reseed && o.plan != "" {
		return usageError("--reseed has no effect beside --plan: the plan's rows are fixed", "leave one of them out")
	}
	sides, err := r.sides(args, f)
	if err != nil {
		return err
	}
	var name string
	var seed int64
	for i := range sides { // a mistake in b shows before a is sent
		j, err := a.prepare(sides[i].args, &sides[i].flags, o.plan)
		if err != nil {
			return err
		}
		if i == 0 {
			name, seed = j.spec.Name, j.spec.Seeds.Run
		}
		o.log.hide(j.secrets())
		err = j.needServer(strings.Join(sides[i].args, ""))
		j.close()
		if err != nil {
			return err
		}
	}
	parent, err := newRunDir(o.out, name, clock.New().Wall())
	if err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	log := o.log
	if err := log.open(parent); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	o.out = filepath.Dir(parent.path) // where earlier repeats are looked for
	if len(sides) > 1 {
		o.out = parent.path
		for _, s := range sides {
			if err := os.Mkdir(parent.file(s.name), 0o755); err != nil {
				return usageError(err.Error(), "another place: --out DIR")
			}
		}
	}
	o.quiet = !o.json || len(sides) > 1
	o.series = parent.path
	order := repeatOrder(r.times, len(sides), seed)
	var codes []int
	var last error
	for i, which := range order {
		s := &sides[which]
		s.next++
		label := filepath.Join(s.name, strconv.Itoa(s.next))
		o.dir = parent.file(label)
		fmt.Fprintf(a.stderr, "\n━━ run %d of %d · %s\n", i+1, len(order), o.dir)
		log.say("repeat", "run %d of %d: %s", i+1, len(order), o.dir)
		flags := s.flags
		if r.reseed {
			flags.sets = append(slices.Clip(flags.sets), fmt.Sprintf("seeds.run=%d", seed+int64(s.next-1)))
		}
		code, err := a.repeatOne(ctx, s.args, &flags, o)
		codes = append(codes, code)
		text := "fit for use"
		if err != nil {
			last, text = err, fmt.Sprintf("exit code %d: %s", code, err.Error())
		}
		if o.quiet {
			fmt.Fprintf(a.stdout, "%s  %s\n", o.dir, text)
		}
		log.say("repeat", "%s: %s", o.dir, text)
		if !slices.Contains(goOn, code) {
			fmt.Fprintf(a.stderr, "no further runs: this one ended with exit code %d\n", code)
			break
		}
	}
	if len(sides) > 1 && len(codes) == len(order) {
		if err := a.repeatCompare(parent.path, o.json, o.lang); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stderr, "runs: %s\n", parent.path)
	return repeatEnding(codes, last)
}

// sides makes one side, or two when there is something to run against.
func (r repeatOptions) sides(args []string, f *specFlags) ([]repeatSide, error) {
	one := repeatSide{args: args, flags: *f}
	if r.against == "" {
		return []repeatSide{one}, nil
	}
	one.name = "a"
	two := repeatSide{name: "b", args: args, flags: *f}
	if fileExists(r.against) {
		two.args = []string{r.against}
		given := f.cmd.Flags().Changed("url") || slices.ContainsFunc(f.sets, func(s string) bool { return strings.HasPrefix(s, "target.url") })
		if given {
			return nil, usageError("--url would send both sides to one server", "set target.url in both specs, or give the other server alone: --against URL")
		}
		return []repeatSide{one, two}, nil
	}
	switch filepath.Ext(r.against) {
	case ".yaml", ".yml", ".json":
		return nil, usageError("--against "+r.against+": there is no such file", "a spec file, or the URL of another server")
	}
	two.flags.sets = append(slices.Clip(f.sets), "target.url="+r.against)
	return []repeatSide{one, two}, nil
}

// repeatOne is a run as any other, and its exit code.
func (a *app) repeatOne(ctx context.Context, args []string, f *specFlags, o runOptions) (int, error) {
	log := newRunLog(a.args)
	log.into, o.log = o.log, log
	j, err := a.prepare(args, f, o.plan)
	if err == nil {
		defer j.close()
		_, err = a.run(ctx, j, o)
	}
	log.end("", err)
	var e *exitError
	switch {
	case err == nil:
		return exitFit, nil
	case errors.As(err, &e):
		return e.code, err
	}
	return exitInternal, err
}

// repeatCompare prints the comparison of the two sides below dir. It has no exit
// code of its own: those of the runs stand for whether the numbers can be used, and
// tokentape compare says 6 about the same folder.
func (a *app) repeatCompare(dir string, asJSON bool, lang string) error {
	sides, err := a.findSides([]string{dir})
	if err != nil {
		return err
	}
	show := a.during("comparing the runs")
	c, err := compare.Compare(sides, compare.Options{})
	show.done()
	if err != nil { // nothing was measured on a side: its exit code says so
		fmt.Fprintf(a.stderr, "not compared: %v\n", err)
		return nil
	}
	view := compareViews["console"]
	if asJSON {
		view = compareViews["json"]
	}
	var b bytes.Buffer
	o := report.Options{Width: 80}
	if !asJSON {
		o = consoleOptions(a.stdout)
		o.Lang = lang
		b.WriteByte('\n')
	}
	if err := view(&b, c, o); err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	return a.put(b.Bytes(), outFile{})
}

// codeOrder is docs/exit-codes.md's.
var codeOrder = []int{exitInterrupted, exitInternal, exitUsage, exitNothing, exitFailures, exitUnfit, exitMissed}

// goOn are the codes after which another repeat can be of use: the run was measured.
var goOn = []int{exitFit, exitFailures, exitUnfit, exitMissed}

// repeatEnding is the exit code of several runs.
func repeatEnding(codes []int, last error) error {
	for _, code := range codeOrder {
		n := 0
		for _, c := range codes {
			if c == code {
				n++
			}
		}
		if n == 0 {
			continue
		}
		e := &exitError{code: code, msg: fmt.Sprintf("%d of %d runs ended with exit code %d", n, len(codes), code)}
		var of *exitError
		if len(codes) == 1 && errors.As(last, &of) {
			return of
		}
		if errors.As(last, &of) && of.code == code {
			e.msg += ", the last: " + of.msg
			e.hints = of.hints
		}
		return e
	}
	return nil
}
