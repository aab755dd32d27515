// Package observe watches a run while it happens.
//
// In: snapshots that run publishes, a copy of each request's end, the client's health
// samples, and what room a terminal has. Out: frames on a terminal, plain lines
// elsewhere, a page in Prometheus' text format; a call of the function that an abort
// rule was given. It must never reach back into the run by any other way than that
// one, nor hold it up. What is shown is a pure function of a Moment and a Screen.
//
// watch.go makes Moments (histogram.go: the percentiles of the last seconds), frame.go,
// line.go and prometheus.go draw one, paint.go turns frames into what a terminal has to
// be sent, live.go sends it.
package observe
