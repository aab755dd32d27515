// Package catalog is what every number of the report means, and how one writes
// about it.
//
// In: nothing; it is data. Out: an Entry for each metric, rate, fact, count and
// check, from which docs/metrics.md, `tokentape explain` and the glossary of a
// report are made; and Parse, which reads a condition of `expect:`. It must never
// compute a value or read a tape: the code of a definition is in analysis and
// analysis/metric, and a test holds the two against each other.
package catalog
