// Package aiperf reads AIPerf's records of single requests (profile_export.jsonl),
// and makes a tape of them.
//
// In: one file of a JSON object a line. Out: the lines of a tape. It must never
// invent what AIPerf did not record, and never computes a statistic.
package aiperf
