// Package observe shows a run while it happens.
//
// In: snapshots that run publishes. Out: a live line on a terminal, plain lines
// elsewhere. It must never reach back into the run, and its text is a pure
// function of the snapshots.
package observe
