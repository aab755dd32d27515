// Package aisbench writes a run in the layout of AISBench/benchmark's performance
// mode, so that its users' scripts, and that tool itself, go on reading it.
//
// In: what package as says that AISBench keeps of a run and prints of it, twice a
// tape, and names for the model and the dataset. Out: details, failures, time
// points, tables, a plot and a config. It must never compute a number that a table
// shows, write a secret, or write over a file.
package aisbench
