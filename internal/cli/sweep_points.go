package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tokentape/internal/analysis/stat"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
)

// mostAsked is how many points are looked at for an estimate of more than may be run.
const mostAsked = 50

// expand makes the points of the spec.
func (s *series) expand() ([]sweep.Place, error) {
	places, err := sweep.Expand(s.base)
	var many *sweep.TooMany
	if !errors.As(err, &many) {
		return places, err
	}
	text := "how long they would take is not known: the loop is closed"
	var sum time.Duration
	sample := sweep.Sample(s.base, mostAsked)
	for _, p := range sample {
		t, err := s.try(p.Sets)
		if err != nil {
			return nil, s.pointError(p.Point, err)
		}
		sum += t.time
	}
	if sum > 0 {
		each := float64(sum) / float64(len(sample))
		text = "they would take about " + long(time.Duration(math.Min(each*float64(many.Points), math.MaxInt64/2)))
	}
	return nil, usageError(many.Error()+"; "+text, fmt.Sprintf("fewer values in sweep.over, or --set sweep.most_points=%d", many.Points))
}

// pointError says which point an error is about.
func (s *series) pointError(p sweep.Point, err error) error {
	var e *exitError
	if !errors.As(err, &e) {
		return fmt.Errorf("point %s: %w", p.Name, err)
	}
	one := *e
	one.msg = fmt.Sprintf("point %s (%s), and nothing was sent: %s", p.Name, sweep.Label(s.m.Fields, p), e.msg)
	return &one
}

// outputField is the setting that a row's own output length wins over.
const outputField = "workload.output_tokens"

// ownOutputs refuses to vary the output length where every row sets its own, and all
// points would be the same; where some rows do, it is said.
func (s *series) ownOutputs(j *job, sets []spec.PointSet) error {
	src, ok := j.source.(interface{ OwnOutputs() (own, all int64) })
	if !ok || !slices.ContainsFunc(sets, func(p spec.PointSet) bool { return p.Path == outputField }) {
		return nil
	}
	own, all := src.OwnOutputs()
	if own < all || own == 0 {
		if note := fmt.Sprintf("note: %d of %d rows set their own output length, so that varying %s changes the others alone", own, all, outputField); own > 0 && !s.said[note] {
			s.said[note] = true
			fmt.Fprintln(s.a.stderr, note)
		}
		return nil
	}
	return usageError(fmt.Sprintf("%s varies, and has no effect: all %d rows of %s set their own output length, which wins over it", outputField, all, j.source.Info().Path),
		"rows without one: tokentape dataset build without --output-len", "or vary what does have an effect: --over load.concurrency=…")
}

// addAll puts places into the manifest, each with the rows that it is to send.
func (s *series) addAll(places []sweep.Place) error {
	show := s.a.loading()
	defer show.done()
	bySet := map[string][]int{}
	var sets []string
	tries := make([]*tried, len(places))
	known := map[string]*tried{}
	for i, p := range places {
		show.rows("preparing the points", int64(i), int64(len(places)))
		key := fmt.Sprint(p.At)
		t := known[key]
		if t == nil {
			var err error
			if t, err = s.try(p.Sets); err != nil {
				return s.pointError(p.Point, err)
			}
			known[key] = t
		}
		tries[i] = t
		if bySet[t.set] == nil {
			sets = append(sets, t.set)
		}
		bySet[t.set] = append(bySet[t.set], i)
	}
	if s.distinct() {
		for _, set := range sets {
			of := bySet[set]
			needs := make([]int64, len(of))
			for k, i := range of {
				needs[k] = tries[i].need
			}
			have := tries[of[0]].rows
			shares, err := sweep.Deal(have, s.used(set), needs)
			if err != nil {
				return s.tooFew(err, places[of[0]].Sets)
			}
			for k, i := range of {
				places[i].FirstRow, places[i].Rows = &shares[k].First, &shares[k].Rows
			}
		}
	}
	for i, p := range places {
		s.m.Add(p.Point)
		s.sets, s.tries = append(s.sets, p.Sets), append(s.tries, tries[i])
	}
	return nil
}

// tooFew says how more rows are made.
func (s *series) tooFew(err error, sets []spec.PointSet) error {
	var short *sweep.Short
	if !errors.As(err, &short) {
		return err
	}
	path, hint := "the dataset", ""
	if one, _, err := s.a.loadSpec(s.args, s.flags(sets)); err == nil && one.Workload.Dataset.Path != "" {
		path = one.Workload.Dataset.Path
		hint = fmt.Sprintf("more of them: tokentape dataset build --requests %d --input TOKENS --tokenizer MODEL --out NEW.jsonl", short.Needed)
		if _, err := os.Stat(manifestName(path)); err == nil {
			hint += " (" + manifestName(path) + " says how this set was built)"
		}
	}
	return usageError(fmt.Sprintf("%s: %s", path, short.Error()), hint,
		"fewer requests a point: --each N", "or the same rows at every point, which the server's prefix cache may then hold: --prompts same")
}

// addMore adds the points of the spec that the manifest does not have.
func (s *series) addMore() error {
	if fields := sweep.Fields(s.base); !slices.Equal(fields, s.m.Fields) {
		return usageError(fmt.Sprintf("%s varies %s, not %s", s.dir, strings.Join(s.m.Fields, ", "), strings.Join(fields, ", ")), "other fields are a sweep of their own: tokentape sweep SPEC --over …")
	}
	places, err := s.expand()
	if err != nil {
		return err
	}
	var there []string
	places = slices.DeleteFunc(places, func(p sweep.Place) bool {
		again := slices.ContainsFunc(s.m.Points, func(q sweep.Point) bool { return sweep.Same(p.Point, q) })
		if again {
			there = append(there, p.Name)
		}
		return again
	})
	if len(there) > 0 {
		fmt.Fprintf(s.a.stderr, "there already, and not run again: %s\n", strings.Join(there, ", "))
	}
	s.tries = make([]*tried, len(s.m.Points))
	return s.addAll(places)
}

// showPlan says which points will be run, with what, and how long that takes.
func (s *series) showPlan(todo []int, only bool) error {
	w := s.a.stderr
	if only {
		w = s.a.stdout
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "points to run: %d, over %s, order %s, prompts %s\n", len(todo), strings.Join(s.m.Fields, " × "), s.m.Order, s.m.Prompts)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "  \tpoint\tN\tC\tr\trows\ttime\n")
	var sum time.Duration
	unknown := 0
	for k, i := range todo {
		p, x := s.m.Points[i], s.tries[i]
		rows := "all"
		if p.FirstRow != nil && p.Rows != nil {
			rows = fmt.Sprintf("%d…%d", *p.FirstRow, *p.FirstRow+*p.Rows-1)
		}
		about := "not known"
		switch {
		case s.base.Sweep.Until.RelativeWidth > 0:
			about = "at most " + long(x.most)
			sum += x.most
		case x.time > 0:
			about = long(x.time)
			sum += x.time
		default:
			unknown++
			if x.most > 0 {
				about = "at most " + long(x.most)
			}
		}
		n, c, r := "by time", "no cap", "closed loop"
		if v := x.load.Requests; v > 0 {
			n = fmt.Sprint(v)
		}
		if v := x.load.Concurrency; v > 0 {
			c = fmt.Sprint(v)
		}
		switch {
		case x.load.Rate > 0:
			r = fmt.Sprintf("%g/s", x.load.Rate)
		case x.load.Open():
			r = "by the schedule"
		}
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\t%s\t%s\n", k+1, p.Name, n, c, r, rows, about)
	}
	t.Flush()
	sum += time.Duration(max(len(todo)-1, 0)) * s.base.Sweep.Pause.D()
	pauses := ""
	if d := time.Duration(max(len(todo)-1, 0)) * s.base.Sweep.Pause.D(); d > 0 {
		pauses = ", of it " + long(d) + " of pauses"
	}
	switch {
	case unknown == len(todo):
		fmt.Fprintf(&b, "how long it takes is known after the first point: the loop is closed%s\n", strings.Replace(pauses, "of it ", "and there are ", 1))
	case unknown > 0:
		fmt.Fprintf(&b, "about %s%s, and %d points of a closed loop, of which it is not known\n", long(sum), pauses, unknown)
	default:
		fmt.Fprintf(&b, "about %s%s, and what the last requests of each point take\n", long(sum), pauses)
	}
	few := 0
	for _, i := range todo {
		if l := s.tries[i].load; l.Requests > 0 && l.Requests < stat.LeastUnits {
			few++
		}
	}
	if few > 0 {
		verb := "measure"
		if few == 1 {
			verb = "measures"
		}
		fmt.Fprintf(&b, "note: %d of %d %s fewer than %d requests, too few for intervals; a p99 takes 100\n", few, len(todo), verb, stat.LeastUnits)
	}
	if !s.distinct() {
		fmt.Fprintln(&b, "note: all points send the same rows (sweep.prompts: same): from the second on the server's prefix cache may hold them, and a point is then faster than its load is light; the cached share says how far")
	}
	if post := s.base.Sweep.Between.Post; post != "" {
		fmt.Fprintf(&b, "between points: POST %s\n", post)
	}
	_, err := fmt.Fprint(w, s.mask(b.String()))
	return err
}

// runAll runs the points that are left, and reads all of them together.
func (s *series) runAll(ctx context.Context, so sweepOptions) error {
	todo := s.m.Left()
	s.tries = append(s.tries, make([]*tried, len(s.m.Points)-len(s.tries))...)
	for _, i := range todo {
		if s.tries[i] != nil {
			continue
		}
		var err error
		if s.tries[i], err = s.try(s.sets[i]); err != nil {
			return s.pointError(s.m.Points[i], err)
		}
	}
	if err := s.showPlan(todo, so.plan); err != nil || so.plan {
		return err
	}
	ctx, stop := interrupts(ctx)
	defer stop()
	if err := s.answers(ctx, todo[0]); err != nil {
		return err
	}
	if s.dir == "" {
		if err := s.begin(); err != nil {
			return err
		}
	} else if err := s.o.log.goOn(&runDir{s.dir}); err != nil {
		return usageError(err.Error())
	} else if err := s.write(); err != nil {
		return err
	}
	var left leftTime
	nothing := 0
	why := ""
	for k, i := range todo {
		if ctx.Err() != nil {
			s.codes, why = append(s.codes, exitInterrupted), "interrupted"
			break
		}
		where := fmt.Sprintf("point %d of %d · %s", k+1, len(todo), sweep.Label(s.m.Fields, s.m.Points[i]))
		if text := left.text(s, todo[k:]); text != "" {
			where += " · " + text + " left"
		}
		e, err := s.run(ctx, i, where)
		if err != nil {
			return err
		}
		left.add(s.tries[i], e)
		if nothing++; e.measured() {
			nothing = 0
		}
		if why = s.pointless(e, nothing); why != "" {
			if why == nobodyThere && k > 0 {
				if err := s.spoiled(todo[k-1]); err != nil {
					return err
				}
			}
			break
		}
	}
	if rest := len(s.m.Left()); why != "" && rest > 0 {
		fmt.Fprintf(s.a.stderr, "\nno further points: %s; %d of %d are left\n  → tokentape sweep %s goes on with them\n", why, rest, len(s.m.Points), shellWords([]string{s.dir}))
	}
	return s.end()
}

// mostNothing is how many points in a row may measure nothing before further ones are
// held to be pointless.
const mostNothing = 3

// pointless says why further points cannot be of use; "": they can.
func (s *series) pointless(e ended, nothing int) string {
	switch {
	case e.code == exitInterrupted:
		return "interrupted"
	case e.code == exitInternal:
		return "the run broke off"
	case e.code == exitNothing && e.dir == "" && !s.variesTarget():
		return nobodyThere
	case nothing >= mostNothing:
		return fmt.Sprintf("%d points in a row measured nothing", nothing)
	}
	return ""
}

// nobodyThere is why further points are pointless when nobody answers.
const nobodyThere = "the server does not answer any more"

// spoiled takes back a point that failed, and after which the server was gone: it is
// run again.
func (s *series) spoiled(i int) error {
	if p := &s.m.Points[i]; p.Exit != nil && *p.Exit == exitFailures {
		p.State = sweep.Failed
		p.Reason = "the server did not answer after it; " + p.Reason
	}
	return s.write()
}

// variesTarget reports whether points ask other servers, or other models.
func (s *series) variesTarget() bool {
	return slices.ContainsFunc(s.m.Fields, func(f string) bool { return strings.HasPrefix(f, "target.") })
}

// answers asks the server who it is, so that no folder is made where nobody listens.
func (s *series) answers(ctx context.Context, i int) error {
	if s.variesTarget() {
		return nil
	}
	j, err := s.a.reach(s.args, s.flags(s.sets[i]))
	if err != nil {
		return err
	}
	waiting := s.a.waiting(s.clk, j)
	defer waiting.Stop()
	if err := j.resolve(ctx); err != nil {
		return err
	}
	_, err = j.preflight(ctx, s.clk)
	if err != nil && ctx.Err() != nil {
		return &exitError{code: exitInterrupted, msg: "interrupted before anything was sent"}
	}
	return err
}

// leftTime tells how long the points that are left will take, by those that were run.
type leftTime struct {
	more   time.Duration // that points took beyond what was known of them
	points int           // of these
	round  float64       // seconds that a request takes in its slot, of the last closed loop
}

// rounds is how many requests a slot of a closed loop serves; 0: not known.
func rounds(l spec.Load) float64 {
	if l.Concurrency < 1 || l.Requests < 1 {
		return 0
	}
	return float64(l.Requests+l.Warmup) / float64(l.Concurrency)
}

func (l *leftTime) add(t *tried, e ended) {
	if !slices.Contains(goOn, e.code) {
		return
	}
	if t.time > 0 {
		l.more, l.points = l.more+e.took-t.time, l.points+1
		return
	}
	if n := rounds(t.load); n > 0 {
		l.round = e.took.Seconds() / n
	}
}

// text is the time for these points; "": not known.
func (l *leftTime) text(s *series, todo []int) string {
	sum := time.Duration(len(todo)-1) * s.base.Sweep.Pause.D()
	for _, i := range todo {
		t := s.tries[i]
		switch {
		case t.time > 0 && l.points > 0:
			sum += max(0, t.time+l.more/time.Duration(l.points))
		case t.time > 0:
			sum += t.time
		case l.round > 0 && rounds(t.load) > 0:
			sum += time.Duration(l.round * rounds(t.load) * 1e9)
		default:
			return ""
		}
	}
	return "about " + long(sum)
}

// long is a length for people: 40 s, 1:20 min, 2:05 h.
func long(d time.Duration) string {
	switch s := int64(d.Round(time.Second) / time.Second); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2g s", d.Seconds())
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	default:
		return fmt.Sprintf("%d:%02d h", s/3600, s/60%60)
	}
}
