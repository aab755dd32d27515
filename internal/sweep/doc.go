// Package sweep says which runs a sweep or a search is made of, and how far it has come.
//
// In: a spec with its sweep section, or the looks of a search as they are decided.
// Out: points (field values, folder, state) and the file sweep.json that keeps them.
//
// It must never send a request, read a tape or decide a number: runs are made by
// cli, and what they say together is read by analysis/curve.
package sweep
