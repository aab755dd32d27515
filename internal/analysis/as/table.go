package as

import "math"

// Table is one tape under one tool's definitions.
type Table struct {
	Tool  string `json:"tool"`  // as --as names it
	Title string `json:"title"` // for people: the tool, what of it, the commit whose source was read
	Rule  string `json:"rule"`  // which requests enter, by which rule, of which version of the tool
	// Error says why there is no table: what the tool would need, or how it ends on
	// such a run.
	Error string `json:"error,omitempty"`
	// Sections are the tables that the tool prints, in its order.
	Sections []Section `json:"sections"`
	// Values are the numbers behind the cells before rounding, in the tool's unit,
	// by key: nil where the tool prints something that is no finite number.
	Values map[string]*float64 `json:"values"`
	// Caveats name what that tool does otherwise than one may think, and its faults
	// that are copied; only those that bear on this tape.
	Caveats []string `json:"caveats,omitempty"`
	// Elsewhere are the tool's other known faults and definitions, which do not bear
	// on this tape.
	Elsewhere []string `json:"caveats_elsewhere,omitempty"`
}

// Section is one table as the tool prints it: cells rounded and formatted as it
// does.
type Section struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// set keeps an unrounded value; what is not finite is nil.
func (t *Table) set(key string, v float64) {
	if t.Values == nil {
		t.Values = map[string]*float64{}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		t.Values[key] = nil
		return
	}
	t.Values[key] = &v
}

// caveat adds s when it applies to this tape.
func (t *Table) caveat(applies bool, s string) {
	if applies {
		t.Caveats = append(t.Caveats, s)
	}
}
