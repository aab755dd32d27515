package report

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// absent is what a view says where there is no number. dash stands for it in
// cells too narrow for the words; a legend line explains it.
const (
	absent = "not observed"
	dash   = "–"
)

// num rounds for the eye: about four significant digits, thousands separators,
// whole numbers without a fraction.
func num(f float64) string {
	a := math.Abs(f)
	switch {
	case f == math.Trunc(f) && a < 1e15, a >= 999.95:
		return group(strconv.FormatFloat(f, 'f', 0, 64))
	case a >= 99.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case a >= 9.9995:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case a >= 0.1:
		return strconv.FormatFloat(f, 'f', 3, 64)
	case a >= 0.001:
		return strconv.FormatFloat(f, 'f', 4, 64)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}

// count is num for integers.
func count(n int64) string { return group(strconv.FormatInt(n, 10)) }

// whole is count, or a dash.
func whole(n *int64) string {
	if n == nil {
		return dash
	}
	return count(*n)
}

// group puts a comma between groups of three digits of an integer.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// value is num of a number that may be absent.
func value(p *float64) string {
	if p == nil {
		return absent
	}
	return num(*p)
}

// peak is the most requests in flight.
func peak(l analysis.Load) string { return observed(l.ConcurrencyPeak) }

// observed is a count, or that there is none.
func observed(n *int64) string {
	if n == nil {
		return absent
	}
	return count(*n)
}

// cell is value for a narrow column.
func cell(p *float64) string {
	if p == nil {
		return dash
	}
	return num(*p)
}

// measure is a value with its unit; absent numbers carry none, shares are
// printed as percent.
func measure(p *float64, unit string) string {
	switch {
	case unit == "share":
		return share(p)
	case p == nil || unit == "":
		return value(p)
	}
	return num(*p) + " " + unit
}

// share prints a fraction as percent.
func share(p *float64) string {
	if p == nil {
		return absent
	}
	return num(*p*100) + " %"
}

// between is an interval, or "" when either end is absent or both are the same.
func between(ci [2]*float64) string {
	if ci[0] == nil || ci[1] == nil || *ci[0] == *ci[1] {
		return ""
	}
	return num(*ci[0]) + " … " + num(*ci[1])
}

// brief is between with no more digits than its width bears: 12.2–14.6. Ends
// that would print alike get the digits that tell them apart.
func brief(ci [2]*float64) string {
	if between(ci) == "" {
		return ""
	}
	lo, hi := *ci[0], *ci[1]
	digits := min(2, max(0, 1-int(math.Floor(math.Log10(hi-lo)))))
	text := func(f float64) string {
		s := strconv.FormatFloat(f, 'f', digits, 64)
		whole, rest, point := strings.Cut(s, ".")
		if point {
			rest = "." + rest
		}
		return group(whole) + rest
	}
	for ; digits < 9 && text(lo) == text(hi); digits++ {
	}
	return text(lo) + "–" + text(hi)
}

// moment is a time on the run's clock, in seconds: the start of a run is 0.000,
// not the microseconds that it took to begin.
func moment(p *float64) string {
	if p == nil {
		return dash
	}
	switch a := math.Abs(*p); {
	case a < 0.0005:
		return "0.000"
	case a < 0.1:
		return strconv.FormatFloat(*p, 'f', 3, 64)
	}
	return num(*p)
}

// finite refuses Results that hold a NaN or an infinity: an absent number is
// nil, so either is a fault of ours, and JSON could not carry it.
func finite(r *analysis.Results) error {
	c := *r
	c.Rows = analysis.Rows{} // RequestsCSV checks its own cells
	return finiteValue(reflect.ValueOf(c), "results")
}

func finiteValue(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s: %w", path, notFinite(f))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return finiteValue(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := finiteValue(v.Field(i), path+"."+v.Type().Field(i).Name); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := finiteValue(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := finiteValue(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key())); err != nil {
				return err
			}
		}
	}
	return nil
}

func notFinite(f float64) error {
	return fmt.Errorf("the value is %v, but a number that is not known must be absent; this is a fault of tokentape, please report it", f)
}
