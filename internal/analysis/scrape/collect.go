package scrape

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/tape"
)

// Collector takes the Scrape lines of a tape. The zero Collector is ready.
type Collector struct {
	readings tape.Readings
	of       map[key]*Source
	slim     bool // nothing is kept over time
}

type key struct {
	part int64
	name string
}

// Source is one metrics page, over all its readings. Times are ns since the run's
// epoch.
type Source struct {
	Name, Role, Kind string  // Role as the tape has it
	Mode             string  // what its series say it is (engine_type, SGLang); "" where they do not, or differ
	Part             int64   // of a merged tape
	Times            []int64 // of the readings that count, never falling
	Begin, End       int64   // first and last line, read or not

	Failed  int64 // readings that failed
	Causes  map[string]int64
	Example string // error of the first
	Missed  int64  // ticks without a reading, since the one before was not over

	// Readings that were read and do not count: what they go on from is not on the
	// tape, or they stand on it after a later one.
	Broken    int64
	BrokenWhy string

	Negative  int64 // counters below 0, which do not count
	NotFinite int64 // NaN and infinite values that were left out
	Repeated  int64 // lines of a series that stood on the page before
	Left      int64 // most series of one page that nobody kept
	LastTook  int64 // ns that the last reading took

	Resets   []Reset
	Restarts int64 // of these, those of a process that began anew

	failures []failure
	series   map[string]*series
	tracks   []*track // by alias
	starts   []string // series that tell when a process began
	counting int      // counters above 0
	nr       int64    // of the last reading
	resync   bool     // the next reading is taken whole
	modes    bool     // series differ in Mode
}

// Reset is a reading in which counters began anew.
type Reset struct {
	T      int64
	Series int  // counters that fell
	Start  bool // a process's start time moved
	Same   bool // the page tells when its processes began, and none of the times moved
	// Anew: the process behind the page is another one. Its start time moved, or, where
	// the page tells none, at least half of the counters that had counted fell at once,
	// and two or more.
	Anew bool
}

type failure struct {
	t     int64
	cause string
}

// series is one series of a page.
type series struct {
	Series
	here    bool // in the reading before
	targets []target
}

// Series is what is kept of any series, named or not.
type Series struct {
	Name     string
	Type     string // as the page says; "untyped"
	Counter  bool   // it counts as one
	N        int64  // readings that gave it, or changed it
	First    float64
	Last     float64
	Min, Max float64
	Increase float64 // of a counter
	Resets   int64
}

// grows reports whether a value counts as a counter.
func grows(typ, name string) bool {
	switch typ {
	case "counter", "histogram":
		return true
	case "summary":
		return strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
	}
	return false
}

// track is one alias of one source.
type track struct {
	alias   *alias
	row     *Row
	columns []*column // gauges, a series each
	total   *growth   // a counter, all series together
	sum     *growth   // a histogram
	count   *growth
	buckets map[float64]*growth // by upper bound
	series  int                 // how many make it up
	ranks   map[string]string   // which rank counts, by group
	resets  []int               // readings in which one of its series began anew
}

// column are the values of a gauge, one a reading from start on; NaN: none.
type column struct {
	start int
	now   float64
	v     []float64
}

func (c *column) at(i int) float64 {
	if i < c.start || i-c.start >= len(c.v) {
		return math.NaN()
	}
	return c.v[i-c.start]
}

// growth is how much counters have grown, one value a reading from start on.
type growth struct {
	start int
	now   float64
	v     []float64
}

func (g *growth) at(i int) float64 {
	if g == nil || i < g.start || len(g.v) == 0 {
		return 0
	}
	return g.v[min(i-g.start, len(g.v)-1)]
}

// target is where a series counts.
type target struct {
	track  *track
	column *column
	growth *growth
	scale  float64
}

// What is beyond these is a fault of whoever wrote it, and no arithmetic holds it: a
// time of ten years, a value.
const (
	farthest = 10 * 366 * 24 * 3600 * 1_000_000_000
	greatest = 1e200
)

// Add takes the next line.
func (c *Collector) Add(s *tape.Scrape) {
	k := key{s.Part.Or(0), s.Source}
	src := c.of[k]
	if src == nil {
		src = &Source{Name: k.name, Part: k.part, Begin: min(max(s.T, -farthest), farthest), End: min(max(s.T, -farthest), farthest), series: map[string]*series{}, Causes: map[string]int64{}, tracks: make([]*track, len(names))}
		if c.of == nil {
			c.of = map[key]*Source{}
		}
		c.of[k] = src
	}
	if s.T > farthest || s.T < -farthest {
		_, _ = c.readings.Take(s) // what follows may go on from it
		src.broken("source " + src.Name + ": a reading ten years away")
		return
	}
	src.Begin, src.End = min(src.Begin, s.T), max(src.End, s.T)
	src.Missed += max(0, s.Missed)
	if !s.OK {
		src.Failed++
		cause := cmp.Or(s.Cause, "failed")
		src.Causes[cause]++
		if src.Example == "" {
			src.Example = cmp.Or(s.Error, cause)
		}
		src.failures = append(src.failures, failure{s.T, cause})
		return
	}
	reading, err := c.readings.Take(s)
	switch {
	case err != nil:
		src.broken(err.Error())
	case len(src.Times) > 0 && s.T < src.Times[len(src.Times)-1], s.Nr > 0 && s.Nr <= src.nr:
		src.broken("source " + src.Name + ": a reading stands on the tape after a later one; are two pages of one name?")
	default:
		src.take(s, reading)
		if !c.slim {
			src.push()
		}
	}
}

func (s *Source) broken(why string) {
	s.Broken++
	s.BrokenWhy = cmp.Or(s.BrokenWhy, why)
	s.resync = true
}

// Sources are all of them, by part and name.
func (c *Collector) Sources() []*Source {
	return slices.SortedFunc(maps.Values(c.of), func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Name, b.Name))
	})
}

// take takes a reading that goes on from the one before.
func (s *Source) take(line *tape.Scrape, r *tape.Reading) {
	s.Role, s.Kind = cmp.Or(r.Role, s.Role), cmp.Or(r.Kind, s.Kind)
	s.NotFinite += max(0, line.NotFinite)
	s.Repeated += max(0, line.Repeated)
	s.nr = line.Nr
	s.Left, s.LastTook = max(s.Left, line.Left), max(0, line.Took.V)
	i := len(s.Times)
	s.Times = append(s.Times, line.T)

	told := len(s.starts)
	reset := Reset{T: line.T, Same: told > 0}
	for _, name := range s.starts {
		v, ok := r.Series[name]
		if ok && v != s.series[name].Last {
			reset.Start = true
		}
		reset.Same = reset.Same && ok && !reset.Start
	}
	all := line.Series
	if !line.Same.OK || s.resync || reset.Start {
		all = r.Series
		s.resync = false
		for name, x := range s.series {
			if _, ok := all[name]; x.here && !ok {
				s.gone(x)
			}
		}
	}
	for _, name := range line.Gone {
		if x := s.series[name]; x != nil && x.here {
			s.gone(x)
		}
	}
	counting := s.counting
	var fresh []string
	for name, v := range all {
		if x := s.series[name]; x == nil {
			fresh = append(fresh, name)
		} else {
			s.put(x, i, v, &reset)
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh {
		s.put(s.born(name, i, r), i, all[name], &reset)
	}
	if reset.Start || reset.Series > 0 {
		reset.Same = reset.Same && len(s.starts) == told
		reset.Anew = reset.Start || !reset.Same && reset.Series >= 2 && 2*reset.Series >= counting
		if reset.Anew {
			s.Restarts++
		}
		s.Resets = append(s.Resets, reset)
	}
}

// born makes a series that was not there before.
func (s *Source) born(full string, i int, r *tape.Reading) *series {
	x := &series{Series: Series{Name: full, Min: math.Inf(1), Max: math.Inf(-1)}}
	_, x.Type = r.Family(full)
	s.series[full] = x
	name, labels := split(full)
	s.engine(labels["engine_type"])
	if name == startTime {
		s.starts = append(s.starts, full)
	}
	known, what := aliases(name)
	for _, n := range known {
		a := &names[n]
		if !a.takes(labels) {
			continue
		}
		t := s.tracks[n]
		if t == nil {
			t = &track{alias: a, row: rowOf[a.row], ranks: map[string]string{}}
			s.tracks[n] = t
		}
		of, rank := group(labels)
		if first, ok := t.ranks[of]; ok && first != rank {
			continue
		}
		t.ranks[of] = rank
		if to, ok := t.target(i, what, labels["le"]); ok {
			x.targets = append(x.targets, to)
		}
		if x.Type == "untyped" { // older tapes do not say
			switch t.row.Type {
			case Gauge:
				x.Type = "gauge"
			case Counter:
				x.Type = "counter"
			default:
				x.Type = "histogram"
			}
		}
	}
	return x
}

// engine takes the label by which SGLang says which worker of a disaggregated pair it
// is.
func (s *Source) engine(mode string) {
	switch {
	case mode == "" || s.modes:
	case s.Mode == "":
		s.Mode = mode
	case s.Mode != mode:
		s.Mode, s.modes = "", true
	}
}

// target is where a series of the track counts, from reading i on.
func (t *track) target(i int, what piece, le string) (target, bool) {
	scale := cmp.Or(t.alias.scale, 1)
	grow := func(g **growth) target {
		if *g == nil {
			*g = &growth{start: i}
		}
		return target{track: t, growth: *g, scale: 1}
	}
	switch {
	case t.row.Type == Gauge:
		c := &column{start: i, now: math.NaN()}
		t.columns = append(t.columns, c)
		t.series++
		return target{track: t, column: c, scale: scale}, true
	case t.row.Type == Counter:
		to := grow(&t.total)
		to.scale = scale
		t.series++
		return to, true
	case what == sum:
		to := grow(&t.sum)
		to.scale = scale
		return to, true
	case what == count:
		t.series++
		return grow(&t.count), true
	}
	bound, err := strconv.ParseFloat(le, 64)
	if err != nil || math.IsNaN(bound) {
		return target{}, false
	}
	if t.buckets == nil {
		t.buckets = map[float64]*growth{}
	}
	g := t.buckets[bound]
	to := grow(&g)
	t.buckets[bound] = g
	return to, true
}

// put gives a series the value of reading i.
func (s *Source) put(x *series, i int, v float64, reset *Reset) {
	if !(math.Abs(v) <= greatest) {
		s.NotFinite++
		return
	}
	counter := grows(x.Type, x.Name)
	for _, to := range x.targets {
		counter = counter || to.growth != nil
	}
	x.Counter = counter
	if counter && v < 0 {
		s.Negative++
		return
	}
	if x.N++; x.N == 1 {
		x.First = v
	}
	x.Min, x.Max = min(x.Min, v), max(x.Max, v)
	if counter {
		var grown float64
		switch {
		case x.N == 1 && i > 0: // a counter that begins while the page is watched begins at 0
			grown = v
		case x.N == 1:
		case v < x.Last || reset.Start:
			grown = v
			x.Resets++
			if v < x.Last {
				reset.Series++
			}
			for _, to := range x.targets {
				if n := len(to.track.resets); n == 0 || to.track.resets[n-1] != i {
					to.track.resets = append(to.track.resets, i)
				}
			}
		default:
			grown = v - x.Last
		}
		x.Increase += grown
		if x.Last > 0 {
			s.counting--
		}
		if v > 0 {
			s.counting++
		}
		for _, to := range x.targets {
			if to.growth != nil {
				to.growth.now += grown * to.scale
			}
		}
	}
	for _, to := range x.targets {
		if to.column != nil {
			to.column.now = v * to.scale
		}
	}
	x.Last, x.here = v, true
}

// gone: the page does not have the series any more.
func (s *Source) gone(x *series) {
	x.here = false
	for _, to := range x.targets {
		if to.column != nil {
			to.column.now = math.NaN()
		}
	}
}

// push closes a reading.
func (s *Source) push() {
	for _, t := range s.tracks {
		if t != nil {
			t.push(s.says(t.alias.with))
		}
	}
}

// says reports whether a gauge of the row, as the page has it now, says something.
func (s *Source) says(row string) bool {
	for _, t := range s.tracks {
		if t == nil || row == "" || t.row.Name != row {
			continue
		}
		for _, c := range t.columns {
			if c.now >= t.alias.least {
				return true
			}
		}
	}
	return false
}

// push closes a reading. with: the row that this one goes with says something.
func (t *track) push(with bool) {
	for _, c := range t.columns {
		v := c.now
		if v < t.alias.least || t.alias.with != "" && v == 0 && !with {
			v = math.NaN()
		}
		c.v = append(c.v, v)
	}
	for _, g := range []*growth{t.total, t.sum, t.count} {
		if g != nil {
			g.v = append(g.v, g.now)
		}
	}
	for _, g := range t.buckets {
		g.v = append(g.v, g.now)
	}
}

// All are the series of the page that had a value, by name.
func (s *Source) All() []Series {
	out := make([]Series, 0, len(s.series))
	for _, x := range s.series {
		if x.N > 0 { // else no value counted
			out = append(out, x.Series)
		}
	}
	slices.SortFunc(out, func(a, b Series) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Len is the number of all series of the page.
func (s *Source) Len() int { return len(s.series) }

// HasStart reports whether a series tells when the process behind the page began.
func (s *Source) HasStart() bool { return len(s.starts) > 0 }

// HasCounters reports whether a counter has ever counted.
func (s *Source) HasCounters() bool { return s.counting > 0 }
