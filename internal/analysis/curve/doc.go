// Package curve reads the points of a sweep or a search together.
//
// In: sweep.json and the tapes of its points. Out: Curves – the points with their
// values and intervals, the Pareto front, the knee, saturation, what was expected
// beside what was measured – and a Comparison of two sweeps, point by point.
//
// It must never keep the best of several runs of a place, never leave a point out
// without saying so, never show percentiles of a load that the server did not keep
// up with, and never print.
package curve
