// Package evidence reads off the results of one look what a search decides by.
//
// In: the Results of a run, with rows, and the limits that were asked for. Out: facts,
// and why the run says nothing of the server where it does not.
//
// It must never decide: whether a fact holds is package search's. It reads no tape and
// no file.
package evidence
