// Package observe watches a run while it happens.
//
// In: snapshots that run publishes, and a copy of each request's end. Out: a live
// line on a terminal, plain lines elsewhere; a call of the function that an abort
// rule was given. It must never reach back into the run by any other way than
// that one, and its text is a pure function of what came in.
package observe
