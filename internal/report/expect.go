package report

import (
	"fmt"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// expected lists the conditions of the run, each with its value; missed ones name
// the first requests that missed.
func (c *console) expected() {
	es := c.r.Expect
	if len(es) == 0 {
		return
	}
	met := 0
	for _, e := range es {
		if e.Result == analysis.ResultPass {
			met++
		}
	}
	c.heading(fmt.Sprintf("Expected: %s of %s %s hold", count(int64(met)), count(int64(len(es))), plural(int64(len(es)), "condition")))
	for _, e := range es {
		lead, st := "  ok    ", plain
		if e.Result != analysis.ResultPass {
			lead, st = "  MISS  ", red
		}
		c.hang(lead, clean(e.Condition)+": "+expectText(e), st)
		if len(e.Rows) > 0 {
			c.hang("        ", clean(expectRows(e)), st)
		}
	}
}

// exact is a value beside the limit that it met or missed: never rounded across it
// for the eye.
func exact(v float64) string {
	s := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// expectText is the value and what is to be said of it.
func expectText(e analysis.Expectation) string {
	var parts []string
	switch {
	case e.Value != nil:
		text := strings.TrimSpace(exact(*e.Value) + " " + e.Unit)
		if e.CI != nil {
			text += ", 95 % interval " + between(*e.CI)
		}
		if e.N > 0 {
			text += ", n " + count(e.N)
		}
		parts = append(parts, text)
	case e.Word != "":
		parts = append(parts, clean(e.Word))
	}
	if e.Why != "" {
		parts = append(parts, clean(e.Why))
	}
	return strings.Join(parts, "; ")
}

// expectRows are the first requests that missed a condition.
func expectRows(e analysis.Expectation) string {
	var parts []string
	for _, r := range e.Rows {
		v := absent
		switch {
		case r.Value != nil:
			v = exact(*r.Value)
		case r.Word != "":
			v = r.Word
		}
		parts = append(parts, fmt.Sprintf("seq %d (row %d) %s", r.Seq, r.DatasetRow, v))
	}
	if more := e.Missed + e.Absent - int64(len(e.Rows)); more > 0 {
		parts = append(parts, "and "+count(more)+" more")
	}
	return strings.Join(parts, " · ")
}

// expectRecords are the rows "expect" of stats.csv.
func expectRecords(es []analysis.Expectation, put func(record)) {
	for _, e := range es {
		rec := record{"row": "expect", "name": guard(e.Condition), "unit": e.Unit, "source": e.Result,
			"text": guard(join("; ", e.Word, e.Why, expectRows(e)))}
		if e.N > 0 {
			rec["n"] = strconv.FormatInt(e.N, 10)
		}
		rec.float("value", e.Value)
		if e.CI != nil {
			rec.interval("value", *e.CI)
		}
		put(rec)
	}
}
