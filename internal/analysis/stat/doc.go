// Package stat is pure maths: sums, quantiles, effective sample size, intervals,
// trends, histograms.
//
// In: numbers in the order of the plan. Out: numbers. It must never know what a
// request is, never give NaN or an infinity, and give the same bits on any
// machine: every product that is summed is rounded on its own, so that no
// processor fuses the two.
package stat
