package report

import "tokentape/internal/analysis"

// What the page of package html says in the same words as the text views.

// Number rounds for the eye: about four significant digits, commas between
// thousands.
func Number(v float64) string { return num(v) }

// Cell is Number, or a dash where there is none.
func Cell(v *float64) string { return cell(v) }

// Whole is a count with commas, or a dash.
func Whole(n *int64) string { return whole(n) }

// Moment is a time on the run's clock in seconds, or a dash.
func Moment(v *float64) string { return moment(v) }

// Measure is a value with its unit, shares as percent; "not observed" where there is
// none.
func Measure(v *float64, unit string) string { return measure(v, unit) }

// Interval is a 95 % interval with no more digits than its width bears, or "".
func Interval(ci [2]*float64) string { return brief(ci) }

// MetricNames are the metrics of a window in the order in which they are shown.
func MetricNames(w *analysis.Window) []string { return metricNames(w) }

// Label reads a metric's name, or a system row's, out.
func Label(name, unit string) string {
	if unit == "" {
		if _, ok := analysis.DefinitionOf(name); ok {
			return systemLabel(name)
		}
	}
	return metricLabel(name, unit)
}

// Economy are the rows per device, of cost and of energy that some window has, and
// EconomyValue is the value of one.
func Economy(ws []analysis.Window) []string { return economy(ws) }

// EconomyValue is the value of a row of Economy, nil where the window has none.
func EconomyValue(w *analysis.Window, name string) *float64 { return economyValue(w, name) }

// AtAGlance reports whether a row of Economy is one of those that people compare.
func AtAGlance(name string) bool { return atAGlance(name) }

// Missed are the checks that missed, failures before notes.
func Missed(v analysis.Verdict) []analysis.Check { return missed(v) }

// Finite refuses Results that hold a NaN or an infinity.
func Finite(r *analysis.Results) error { return finite(r) }
