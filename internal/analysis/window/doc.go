// Package window decides which part of a run a table is about: the interval, the
// requests whose latencies enter it, and the words that say why.
//
// In: the run's requests in plan order. Out: Intervals. It must never compute a
// statistic that a view prints, and never choose silently.
package window
