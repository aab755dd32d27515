// Package telemetry samples the two ends of a run while it is going on: the
// client's own health, and the metrics pages that the servers publish.
//
// In: a clock, intervals, functions that read gauges or fetch a page, and which
// families of a page are kept. Out: tape.ClientSample and tape.Scrape records, one a
// tick. It must never sit on the path of a request, never send anything but the GETs
// that its sources name, never turn a value that could not be read into a zero, never
// interpret what it reads (resets, restarts and rates are for analysis), and never let
// a slow or failing source hold up another.
//
// A page is read by families.go (what is kept), line.go (one line), page.go (a page,
// and what of it changed) and scrape.go (when).
package telemetry
