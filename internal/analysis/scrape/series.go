package scrape

import (
	"maps"
	"slices"
	"strings"
)

// split cuts a series, as the tape names it, into its name and its labels. Labels
// that cannot be read are left out.
func split(series string) (name string, labels map[string]string) {
	name, rest, ok := strings.Cut(series, "{")
	if !ok {
		return name, nil
	}
	labels = map[string]string{}
	for rest != "" && rest != "}" {
		key, after, ok := strings.Cut(rest, `="`)
		if !ok {
			break
		}
		var b strings.Builder
		i := 0
		for i < len(after) && after[i] != '"' {
			if after[i] == '\\' && i+1 < len(after) {
				i++
				if after[i] == 'n' {
					b.WriteByte('\n')
					i++
					continue
				}
			}
			b.WriteByte(after[i])
			i++
		}
		labels[key] = b.String()
		if i == len(after) {
			break
		}
		rest = strings.TrimPrefix(after[i+1:], ",")
	}
	return name, labels
}

// group tells series of one family apart that do different work: all labels but
// those of ranks and a bucket's bound. The rank of one is its labels of ranks.
func group(labels map[string]string) (of, rank string) {
	var a, b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		switch {
		case k == "le":
		case slices.Contains(ranks, k):
			b.WriteString(k + "=" + labels[k] + ",")
		default:
			a.WriteString(k + "=" + labels[k] + "\x00")
		}
	}
	return a.String(), b.String()
}

// byName finds the aliases of a series' name.
var byName = func() map[string][]int {
	m := map[string][]int{}
	for i, a := range names {
		m[a.series] = append(m[a.series], i)
	}
	return m
}()

var rowOf = func() map[string]*Row {
	m := map[string]*Row{}
	for i := range Rows {
		m[Rows[i].Name] = &Rows[i]
	}
	return m
}()

// RowNamed is the row of that name, nil for none.
func RowNamed(name string) *Row { return rowOf[name] }

// Series are the series that a row may be made of, without labels, in the order in
// which they are looked for.
func (r *Row) Series() []string {
	var all []string
	for i := range names {
		if names[i].row == r.Name && !slices.Contains(all, names[i].series) {
			all = append(all, names[i].series)
		}
	}
	return all
}

// which of a histogram a series is.
type piece int

const (
	whole piece = iota // no histogram
	bucket
	sum
	count
)

var pieces = []struct {
	end  string
	what piece
}{{"_bucket", bucket}, {"_sum", sum}, {"_count", count}}

// aliases are those of a series' name, and which piece of a histogram it is.
func aliases(name string) ([]int, piece) {
	for _, engine := range []string{"sglang", "vllm"} {
		if rest, ok := strings.CutPrefix(name, engine+"_"); ok {
			name = engine + ":" + rest
		}
	}
	for _, n := range []string{name, name + "_total"} {
		if all := byName[n]; all != nil && rowOf[names[all[0]].row].Type != Histogram {
			return all, whole
		}
	}
	for _, p := range pieces {
		if base, ok := strings.CutSuffix(name, p.end); ok {
			if all := byName[base]; all != nil && rowOf[names[all[0]].row].Type == Histogram {
				return all, p.what
			}
		}
	}
	return nil, whole
}

// takes reports whether a series with these labels belongs to the alias.
func (a *alias) takes(labels map[string]string) bool {
	if a.label == "" {
		return true
	}
	v, ok := labels[a.label]
	begins := func(all []string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(v, s) })
	}
	if len(a.in) > 0 {
		return ok && begins(a.in)
	}
	return !begins(a.out)
}
