// Package dataset reads the rows of a dataset file.
//
// In: a path and a format. Out: the number of rows, the file's hash, and any row
// on demand, read again from the file. Every row is checked when the file is
// opened: a bad row is an error with path:line:col, never skipped. It must never
// keep rows in memory (8 bytes a row are kept), never guess what a row means,
// and never give other bytes for a row than those that it checked.
package dataset
