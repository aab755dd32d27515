// Package aisbench reads what AISBench/benchmark leaves of a performance run, its
// details file and the databases beside it, and makes a tape of it.
//
// In: a result folder. Out: the lines of a tape. It must never invent what
// AISBench did not record (when a byte was written, what an event carried, wall
// time, why a request failed): that is absent. It never computes a statistic, and
// never writes to the folder.
package aisbench
