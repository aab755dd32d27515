// Package tape is the record of a run: its model, its codec, a streaming reader
// and a writer. FORMAT.md in this folder is the prose specification from which
// a reader in another language can be built.
//
// In: stamps and facts as the run produced them. Out: one append-only file, one
// JSON object a line. It must never turn an absent value into a zero, never
// change what it was given, and never refuse a file because its end is torn.
// It depends on the standard library and a zstd codec alone.
package tape
