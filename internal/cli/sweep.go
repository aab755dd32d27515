package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis/curve"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/tape"
)

// sweepOptions are the flags of sweep that are no field of the spec.
type sweepOptions struct {
	add  bool
	plan bool
}

// sweepFlagPaths are fields of the section sweep under shorter names.
var sweepFlagPaths = pathFlags{
	{"each", "sweep.requests", "N of each point: 200, or 10C for ten of each slot"},
	{"order", "sweep.order", "of the points: up, down, shuffled, interleaved"},
	{"repeats", "sweep.repeats", "runs of each point"},
	{"pause", "sweep.pause", "between two points, e.g. 5s"},
	{"prompts", "sweep.prompts", "distinct: no two points send the same rows; same: all do"},
}

func (a *app) sweepCommand() *cobra.Command {
	var o runOptions
	var so sweepOptions
	var live liveFlags
	var over []string
	cmd := &cobra.Command{
		Use:   "sweep SPEC.yaml|SWEEP",
		Short: "Run the points of a ladder or grid, each with a tape of its own",
		Long: `sweep runs a load at each of several points, and reads them together at the end.
What varies is said by sweep.over in the spec, or by --over:

  --over load.concurrency=1,2,4,8          a list
  --over load.rate=1..16/5                 a range: 5 values, both ends included
  --over load.rate=1..16/5log              with equal ratios
  --over '{fields: [workload.output_tokens, load.rate], values: [[128, 8], [1024, 1]]}'

Several make a grid, of which the first is slowest. No two points send the same rows of
the dataset, unless --prompts same is asked for: a server that has seen a prompt may
answer from its cache. Everything is prepared before the first request goes out, so that
a mistake in the last point shows at once.

Each point is a run in runs/NAME/TIME-sweep/points/POINT/. With the folder of a sweep in
place of a spec, sweep goes on where it stopped; a point that was cut is run again. With
--add and --over it runs further points.`,
		Example: `  tokentape sweep spec.yaml --over load.concurrency=1,2,4,8,16 --each 10C
  tokentape sweep spec.yaml --plan
  tokentape sweep runs/NAME/TIME-sweep --api-key '${API_KEY}'
  tokentape sweep runs/NAME/TIME-sweep --add --over load.concurrency=32,64`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, args = live.address(args)
			return cobra.MaximumNArgs(1)(cmd, args)
		},
	}
	f := addSpecFlags(cmd)
	live.register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&over, "over", nil, "what varies: FIELD=VALUES (may be given more than once)")
	values := sweepFlagPaths.register(fs, nil)
	fs.BoolVar(&so.add, "add", false, "with the folder of a sweep: run the points of --over too")
	fs.BoolVar(&so.plan, "plan", false, "show the points and how long they take, and send nothing")
	fs.StringVar(&o.out, "out", "runs", "folder under which NAME/TIME-sweep/ is made")
	fs.BoolVar(&o.json, "json", false, "print curve.json instead of the table")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		addr, args := live.address(args)
		more, err := overSets(over)
		if err != nil {
			return err
		}
		f.more = append(more, sweepFlagPaths.given(fs, values)...)
		if o.live, err = live.open(a, addr); err != nil {
			return err
		}
		defer o.live.close()
		if !so.plan { // which leaves nothing behind
			o.log = newRunLog(a.args)
		}
		err = a.sweep(cmd.Context(), args, f, o, so)
		o.log.end(o.out, err)
		return err
	}
	return cmd
}

// overSets reads --over.
func overSets(over []string) ([]spec.Set, error) {
	if len(over) == 0 {
		return nil, nil
	}
	var axes []string
	for _, text := range over {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "{") {
			axes = append(axes, text)
			continue
		}
		field, values, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(values) == "" {
			return nil, usageError(fmt.Sprintf("--over %s: there are no values", text), "--over load.concurrency=1,2,4,8 or --over load.rate=1..16/5")
		}
		if m := rangeText.FindStringSubmatch(values); m != nil {
			axes = append(axes, fmt.Sprintf("{field: %s, from: %s, to: %s, steps: %s%s}", overText(field), m[1], m[2], m[3], map[bool]string{true: ", scale: log"}[m[4] != ""]))
			continue
		}
		if strings.Contains(values, "..") && !strings.ContainsAny(values, "/\\") {
			return nil, usageError(fmt.Sprintf("--over %s: how many values?", text), "--over "+field+"="+values+"/5: five, both ends included")
		}
		var list []string
		for v := range strings.SplitSeq(values, ",") {
			if strings.TrimSpace(v) == "" {
				return nil, usageError(fmt.Sprintf("--over %s: one of the values is empty", field), "leave the comma out; a value that is empty on purpose: --over '{field: "+field+", values: [\"\", …]}'")
			}
			list = append(list, overText(v))
		}
		axes = append(axes, fmt.Sprintf("{field: %s, values: [%s]}", overText(field), strings.Join(list, ", ")))
	}
	return []spec.Set{{Path: "sweep.over", Value: "[" + strings.Join(axes, ", ") + "]", Origin: "--over"}}, nil
}

// rangeText is FROM..TO/STEPS, with log behind it for equal ratios.
var rangeText = regexp.MustCompile(`^ *([0-9.e+-]*[0-9])\.\.([0-9.e+-]*[0-9])/([0-9]+)( ?log)? *$`)

// overText is a word of a flag as a scalar of YAML: numbers as they are, else text.
func overText(word string) string {
	word = strings.TrimSpace(word)
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return word
	}
	b, err := json.Marshal(word) // which YAML reads
	if err != nil {
		return word
	}
	return string(b)
}

// sweep runs the points of a spec, or goes on with those of a folder.
func (a *app) sweep(ctx context.Context, args []string, f *specFlags, o runOptions, so sweepOptions) error {
	if len(args) == 1 && isDir(args[0]) {
		return a.sweepOn(ctx, filepath.Clean(args[0]), f, o, so)
	}
	if so.add {
		return usageError("--add needs the folder of a sweep", "tokentape sweep runs/NAME/TIME-sweep --add --over load.concurrency=32,64")
	}
	s, err := a.newSeries("sweep", args, f, o)
	if err != nil {
		return err
	}
	defer s.close()
	if s.base.Sweep.IsZero() {
		return usageError("nothing varies: sweep.over is not set", "--over load.concurrency=1,2,4,8, or in the spec: sweep: {over: [{field: load.concurrency, values: [1, 2, 4, 8]}]}")
	}
	places, err := s.expand()
	if err != nil {
		return err
	}
	s.m.Fields = sweep.Fields(s.base)
	if err := s.addAll(places); err != nil {
		return err
	}
	if path := s.base.Sweep.Expected; path != "" {
		if err := curve.CheckExpected(s.m, path); err != nil {
			return curveError("", err)
		}
	}
	return s.runAll(ctx, so)
}

// sweepOn goes on with the sweep in a folder, and adds points to it.
func (a *app) sweepOn(ctx context.Context, dir string, f *specFlags, o runOptions, so sweepOptions) error {
	m, err := sweep.Read(dir)
	if err != nil {
		hint := "a spec, or the folder of a sweep: runs/NAME/TIME-sweep"
		if sweep.Holds(dir) {
			hint = unreadable(dir)
		}
		return usageError(err.Error(), hint)
	}
	if m.Kind != "sweep" {
		return usageError(fmt.Sprintf("%s is the folder of a %s, whose points follow from each other", dir, m.Kind), "tokentape report "+shellWords([]string{dir}))
	}
	if err := so.fit(f, maskedIn(dir)); err != nil {
		return err
	}
	if err := (&series{m: m}).unchanged(dir); err != nil {
		return err
	}
	s, err := a.newSeries("sweep", []string{filepath.Join(dir, sweepSpec)}, f, o)
	if err != nil {
		return err
	}
	defer s.close()
	if masks := s.base.Masks(); len(masks) > 0 {
		return usageError(fmt.Sprintf("%s holds no secrets, and %s was one", s.args[0], masks[0].Field), "give it again: --api-key '${API_KEY}', or --set "+masks[0].Field+"=…")
	}
	if err := s.lock(dir); err != nil {
		return err
	}
	if s.m, err = sweep.Read(dir); err != nil { // as it is now that nobody else writes it
		return usageError(err.Error())
	}
	s.o.out = filepath.Dir(filepath.Dir(dir))
	for i := range s.m.Points {
		p := &s.m.Points[i]
		s.sets = append(s.sets, setsOf(s.m.Fields, *p))
		if p.State != sweep.Done {
			continue
		}
		if err := tapeBegins(filepath.Join(dir, p.Run)); err != nil {
			fmt.Fprintf(a.stderr, "%s is run again: %s\n", p.Name, s.shown(err.Error()))
			p.State, p.Exit = sweep.Failed, nil
		}
	}
	if so.add {
		if err := s.addMore(); err != nil {
			return err
		}
	}
	if len(s.m.Left()) == 0 {
		return usageError(fmt.Sprintf("nothing is left to run: all %d points were measured", len(s.m.Points)),
			"further points: tokentape sweep "+shellWords([]string{dir})+" --add --over "+s.m.Fields[0]+"=…", "their table: tokentape report "+shellWords([]string{dir}))
	}
	return s.runAll(ctx, so)
}

// unreadable is what there still is where a manifest cannot be read.
func unreadable(dir string) string {
	return "what was measured is whole: each run in " + filepath.Join(dir, sweepPoints) + " is read alone, tokentape report " + filepath.Join(dir, sweepPoints, "NAME")
}

// tapeBegins says why a run's folder has no tape that could be read; nil: it has.
func tapeBegins(run string) error {
	path, err := curve.Tape(run)
	if err != nil {
		return err
	}
	r, err := tape.OpenFile(path)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Next()
	return err
}

// maskedIn are the settings of a sweep's own spec that held a secret.
func maskedIn(dir string) []string {
	s, _ := spec.Read(filepath.Join(dir, sweepSpec), func(string) (string, bool) { return "", false }, nil)
	var out []string
	if s != nil {
		for _, m := range s.Masks() {
			out = append(out, m.Field)
		}
	}
	return out
}

// fit refuses flags that would make the points left unlike those that were measured.
// Of the settings that are masked the secret alone was taken out.
func (so sweepOptions) fit(f *specFlags, masked []string) error {
	sets, err := f.assignments()
	if err != nil {
		return err
	}
	for _, set := range sets {
		switch {
		case set.Path == "target.api_key", strings.HasPrefix(set.Path, "target.headers"), set.Path == "telemetry.metrics", set.Path == "sweep.pause", slices.Contains(masked, set.Path):
		case so.add && slices.Contains([]string{"sweep.over", "sweep.repeats", "sweep.order"}, set.Path):
		case set.Path == "sweep.over":
			return usageError("--over beside the folder of a sweep: its points are given", "--add runs further ones")
		default:
			return usageError(set.Origin+" would make the points that are left unlike those that were measured", "leave it out; secrets alone are given again (--api-key), and sweep.pause")
		}
	}
	if so.add && !slices.ContainsFunc(sets, func(s spec.Set) bool { return s.Path == "sweep.over" || s.Path == "sweep.repeats" }) {
		return usageError("--add adds no point", "--add --over load.concurrency=32,64, or --add --repeats 3 for further runs of the same")
	}
	return nil
}

// setsOf are the assignments of a point that was written down.
func setsOf(fields []string, p sweep.Point) []spec.PointSet {
	sets := make([]spec.PointSet, len(fields))
	for i, f := range fields {
		sets[i].Set = spec.Set{Path: f, Value: sweep.Text(p.At[i]), Origin: "point " + p.Name}
	}
	return sets
}
