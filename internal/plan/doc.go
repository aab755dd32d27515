// Package plan makes the rows of a run before the first request goes out:
// sequence number, due time, dataset row, phase.
//
// In: the load part of a Spec, the number of dataset rows, seeds. Out: a Plan
// that can be saved, hashed and run again. It must never hold a prompt, never
// look at a clock, and give the same rows for the same seeds on any machine.
package plan
