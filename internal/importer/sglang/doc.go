// Package sglang reads what SGLang's benchmark client (sglang.bench_serving
// --output-details) writes, and makes a tape of it.
//
// In: one result file, a line a run. Out: the lines of a tape. It must never invent
// what that client did not record, above all when requests were sent, and never
// computes a statistic.
package sglang
