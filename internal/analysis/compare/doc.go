// Package compare says whether one set of runs is better or worse than another.
//
// In: the Results and headers of runs, in sides A, B …. Out: a Comparison, every
// further side against the first: shifts with intervals, a verdict per metric and
// in all, every recorded fact that differs, and what makes the runs unlike. It must
// never call a difference without its uncertainty, never hide that a run was not
// fit for use, never average percentiles over runs, and never print.
package compare
