package sweep

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/spec"
)

// Place is a point before it has run, with what it gives to the spec
// (spec.ReadPoint).
type Place struct {
	Point
	Sets []spec.PointSet
}

// TooMany is the error of a sweep with more points than it may have.
type TooMany struct{ Points, Most int64 }

func (e *TooMany) Error() string {
	return fmt.Sprintf("%d points are more than sweep.most_points, which is %d", e.Points, e.Most)
}

// Fields are the fields that vary, the first slowest.
func Fields(s *spec.Spec) []string {
	var out []string
	for _, a := range s.Sweep.Over {
		out = append(out, a.Names()...)
	}
	return out
}

// axis is one of sweep.over, its places in the order of up.
type axis struct {
	at    int   // in sweep.over
	order []int // of its rows
	rows  [][]any
}

// axes are those of a spec, and how many places they make together; −1: more than can
// be counted.
func axes(s *spec.Spec) (out []axis, places int64) {
	places = 1
	for i, a := range s.Sweep.Over {
		rows := a.Rows()
		x := axis{at: i, order: make([]int, len(rows)), rows: rows}
		numbers := true
		for k, row := range rows {
			x.order[k] = k
			_, ok := number(row[0])
			numbers = numbers && ok
		}
		if numbers {
			slices.SortStableFunc(x.order, func(a, b int) int {
				x, _ := number(rows[a][0])
				y, _ := number(rows[b][0])
				switch {
				case x < y:
					return -1
				case x > y:
					return 1
				}
				return 0
			})
		}
		out = append(out, x)
		if places *= int64(len(rows)); places > 1<<40 {
			return out, -1
		}
	}
	return out, places
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Count is how many points the sweep of a spec has, repeats included; 1 << 40 and more
// are not told apart.
func Count(s *spec.Spec) int64 {
	if s.Sweep.IsZero() {
		return 0
	}
	_, n := axes(s)
	if n < 0 {
		return 1 << 40
	}
	return min(n*s.Sweep.Repeats, 1<<40)
}

// Expand makes the points of a spec's sweep in the order in which they are to run. The
// error is a *TooMany.
func Expand(s *spec.Spec) ([]Place, error) {
	if n := Count(s); n > s.Sweep.MostPoints {
		return nil, &TooMany{n, s.Sweep.MostPoints}
	}
	return points(s, Count(s)/max(s.Sweep.Repeats, 1)), nil
}

// Sample are up to n of the places of a sweep, evenly chosen, for an estimate of what
// all of them would take.
func Sample(s *spec.Spec, n int64) []Place {
	one := *s
	one.Sweep.Repeats, one.Sweep.Order = 1, "up"
	return points(&one, n)
}

// points makes up to most places, evenly chosen, and their repeats.
func points(s *spec.Spec, most int64) []Place {
	list, total := axes(s)
	if total < 0 {
		total = 1 << 40
	}
	n := min(total, most)
	names := map[string]int{}
	places := make([]Place, n)
	shown, _ := axes(s.Masked())
	for i := range n {
		k := i
		if total > n {
			k = int64(float64(i) / float64(n) * float64(total))
		}
		p := &places[i]
		p.State = NotRun
		rows := make([]int, len(list))
		for x := len(list) - 1; x >= 0; x-- { // the last is fastest
			size := int64(len(list[x].order))
			rows[x], k = list[x].order[k%size], k/size
		}
		for x, a := range list {
			p.Sets = append(p.Sets, s.SweepSets(a.at, rows[x], a.rows[rows[x]])...)
			names := s.Sweep.Over[a.at].Names()
			for i, v := range shown[x].rows[rows[x]] {
				p.At = append(p.At, plain(names[i], v))
			}
		}
		p.Name = unique(names, nameOf(Fields(s), p.At))
	}
	return ordered(s, places, names)
}

// plain is a value of a field as the manifest keeps it: files by their whole paths.
func plain(field string, v any) any {
	if f, ok := number(v); ok {
		return f
	}
	text := fmt.Sprint(v)
	if spec.IsPath(field) {
		if abs, err := filepath.Abs(text); err == nil {
			return abs
		}
	}
	return text
}

// Text is a value of Point.At as a flag gives it.
func Text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// ordered puts places into the order of the sweep, each with its repeats.
func ordered(s *spec.Spec, places []Place, names map[string]int) []Place {
	w := s.Sweep
	r := rand.New(rand.NewPCG(uint64(s.Seeds.Run), 0x7377656570))
	shuffle := func(list []Place) { r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] }) }
	if w.Order == "down" {
		slices.Reverse(places)
	}
	var out []Place
	again := func(p Place, k int64) Place {
		if p.Repeat = int(k); k > 1 {
			p.Name = unique(names, p.Name+"."+strconv.FormatInt(k, 10))
		}
		p.At, p.Sets = slices.Clone(p.At), slices.Clone(p.Sets)
		return p
	}
	if w.Order == "interleaved" {
		for k := int64(1); k <= w.Repeats; k++ {
			round := make([]Place, len(places))
			for i, p := range places {
				round[i] = again(p, k)
			}
			shuffle(round)
			out = append(out, round...)
		}
		return out
	}
	for _, p := range places {
		for k := int64(1); k <= w.Repeats; k++ {
			out = append(out, again(p, k))
		}
	}
	if w.Order == "shuffled" {
		shuffle(out)
	}
	return out
}

// short are what fields are called in the names of points; "": the value says enough.
var short = map[string]string{
	"load.concurrency": "c", "load.rate": "r", "load.requests": "n", "load.sessions": "s", "load.session_concurrency": "c",
	"workload.output_tokens": "out", "workload.dataset.path": "", "target.model": "", "target.url": "", "load.duration": "",
}

// ShortName is what a field is called where there is little room: c for
// load.concurrency, else its last part.
func ShortName(field string) string {
	if name, ok := short[field]; ok {
		return name
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}

// Label names a point for people: c=8 · out=128.
func Label(fields []string, p Point) string {
	var parts []string
	for i, f := range fields {
		if i >= len(p.At) {
			break
		}
		name, v := ShortName(f), ValueText(f, p.At[i])
		if name == "" {
			parts = append(parts, v)
			continue
		}
		parts = append(parts, name+"="+v)
	}
	if p.Repeat > 1 {
		parts = append(parts, "run "+strconv.Itoa(p.Repeat))
	}
	return strings.Join(parts, " · ")
}

// ValueText is a value of Point.At for people: a file by its name alone, a URL by its host.
func ValueText(field string, v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	text := fmt.Sprint(v)
	switch {
	case spec.IsPath(field):
		return strings.TrimSuffix(filepath.Base(text), filepath.Ext(text))
	case strings.HasPrefix(field, "target.url"):
		_, host, found := strings.Cut(text, "://")
		if found {
			return host
		}
	}
	return text
}

// maxName bounds the name of a point, in bytes.
const maxName = 60

// nameOf is the name of the folder of a place, such as c8 or c8-out128.
func nameOf(fields []string, at []any) string {
	var parts []string
	for i, f := range fields {
		text := ShortName(f)
		v := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
				return r
			}
			return '_'
		}, ValueText(f, at[i]))
		if text != "" && text != "c" && text != "r" && text != "n" && text != "s" && text != "out" {
			text += "_"
		}
		parts = append(parts, text+v)
	}
	name := strings.Trim(strings.Join(parts, "-"), ".")
	if len(name) > maxName {
		name = name[:maxName]
	}
	if name == "" {
		return "point"
	}
	return name
}

// unique makes a name one that was not given yet.
func unique(names map[string]int, name string) string {
	names[name]++
	if names[name] == 1 {
		return name
	}
	return unique(names, fmt.Sprintf("%s_%d", name, names[name]))
}
