// Package search finds the highest load that holds an SLO, or the load with the
// highest goodput: it says where to look next, and what the looks so far prove.
//
// In: what is asked (Params) and the looks made so far, each with what was counted in
// it. Out: the next Step, or a Verdict; and File, which is search.json.
//
// Everything is a function of the looks alone, so that a search goes on from its file
// as if it had never stopped, and the same looks always give the same verdict. It
// must never run a load, read a tape or a clock, or decide by a point where there is
// an interval.
//
// # Decisions
//
// Each look is judged by bounds. What is a limit on requests (report.slo with a share,
// or a percentile) is a share of requests that kept it, with exact bounds of Clopper
// and Pearson on the effective number of requests. A look holds when every lower
// bound is at or above what is required, fails when an upper bound is below, and is
// undecided between; then the place is looked at again, for longer, with other seeds
// and other prompts, and what was counted there is taken together.
//
// Looks are many and each may err, so every bound is that of level 1 − 0.05 ÷ the
// declared number of looks (Bonferroni): all decisions of a search together are right
// with 95 %.
//
// The highest load that held has been chosen for having held. It is measured again,
// for longer, with seeds and prompts of its own; only that measurement is reported,
// and where it does not hold the search steps down.
package search
