// Package html turns Results into one page that needs nothing else: no network, no
// other file.
//
// In: analysis.Results with Charts. Out: report.html, and the data document inside
// it, which whatever serves or draws runs elsewhere can hand to the same drawing
// code. It must never compute: every number was in Results, the page only rounds,
// sorts and draws. It must never let text that came from outside become markup or
// script, or reach out of the page.
package html
