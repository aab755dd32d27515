// Package telemetry samples the two ends of a run while it is going on: the
// client's own health, and the metrics that the server publishes.
//
// In: a clock, an interval, and functions that read gauges or fetch a URL. Out:
// tape.ClientSample and tape.Scrape records, one a tick. It must never sit on
// the path of a request, never send anything but the GETs that its sources
// name, never turn a value that could not be read into a zero, and never let a
// slow or failing source hold up another.
package telemetry
