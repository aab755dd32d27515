// Package view is a local web server over a folder of runs.
//
// In: a folder, and GET requests. Out: a list of the runs in it, the page of one, and
// two or more of them overlaid, with the drawing code of report/html. It must never
// write a file, never read one outside of the folder, whatever a request or a symbolic
// link names, never answer a name that it was not told of, and never let what stands in
// a file become markup or script. It measures nothing: numbers are those of results.json,
// or of an analysis of the tape.
package view
