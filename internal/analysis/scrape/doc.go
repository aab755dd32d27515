// Package scrape makes sense of readings of metrics pages: which series is which
// row, whatever the engine calls it; counters as increases, with their resets;
// gauges over time; histograms as quantiles between bounds.
//
// In: the Scrape lines of a tape, in its order. Out: sources, with values of any
// stretch of time. It must never keep a whole page per reading: of series that are
// no named row it keeps sums alone. It never draws a line where nothing was read.
package scrape
