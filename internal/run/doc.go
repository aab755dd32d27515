// Package run is the engine: plan × pace × exchange → tape.
//
// In: a plan, a source of items, an exchanger, an open tape. Out: every request
// on the tape, and a footer with a named stop reason. It must never compute a
// percentile, never drop a record, never send a row that the plan does not hold,
// and never let planned differ from ok + failed + cancelled + abandoned + not
// issued.
package run
