package html

import (
	_ "embed"
	"html/template"
	"io"

	"tokentape/internal/analysis/curve"
	"tokentape/internal/report"
)

//go:embed curve_compare.html
var curveComparePage string

// curveCompareView is what curve_compare.html shows.
type curveCompareView struct {
	C         *curve.Comparison
	Lang, CSP string
	Style     template.CSS
	Legend    string
	Chosen    string
	Quantiles []string
	Tables    []report.CurveCompareTable
}

// WriteCurveComparison writes the page of two sweeps: their curves over each other, and
// beneath them how they compare at each point. One file, whole in itself. Errors: those
// of w, a language that is none of Languages, values that are NaN.
func WriteCurveComparison(w io.Writer, c *curve.Comparison, o Options) error {
	if err := report.CurveCompareJSON(io.Discard, c); err != nil {
		return err
	}
	v := &curveCompareView{C: c, Legend: report.CurveCompareLegend, Chosen: chosenQuantile(c.Both), Quantiles: curveQuantiles, Tables: report.CurveCompareTables(c)}
	return writeCurvePage(w, curveComparePage, c.Both, o, func(p curveFrame) any {
		v.Lang, v.CSP, v.Style = p.lang, p.csp, p.style
		return v
	})
}
