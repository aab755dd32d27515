// Package vllm writes a run in the JSON layout of vLLM's `vllm bench serve
// --save-result`, so that scripts which read such files go on working.
//
// In: an as.Run. Out: one JSON object with that tool's field names, its numbers by
// its own definitions (package as). It must never compute a number, and never write
// what was not observed as if it had been: such a field is null or left out
// (docs/exports.md lists them).
package vllm
