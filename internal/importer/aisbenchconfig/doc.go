// Package aisbenchconfig turns a performance config of AISBench into specs.
//
// In: a Python config of that tool, evaluated by pyconf, and the environment. Out:
// for each pair of a model and a dataset a spec as YAML, in which every field says
// which line it came from, rows files that the spec names, and a warning for every
// field that has no meaning here. It must never drop a field silently, never write
// a key, and never copy a trap of that tool without saying so.
package aisbenchconfig
