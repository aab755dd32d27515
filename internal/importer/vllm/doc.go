// Package vllm reads what vLLM's benchmark client (vllm bench serve --save-result
// --save-detailed) writes, and makes a tape of it.
//
// In: one result file. Out: the lines of a tape. It must never invent what that
// client did not record, and never computes a statistic.
package vllm
