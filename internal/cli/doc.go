// Package cli is the command line: one file a verb.
//
// In: arguments, environment, signals. Out: a report on stdout, progress and
// errors on stderr, an exit code. It wires the rooms together and must never
// compute a number, never print a secret, and never leave a half-written file.
package cli
