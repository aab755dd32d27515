// Package dialect is meaning: an item becomes a request body, the payloads of a
// response become facts.
//
// In: workload.Item and the payloads that package frame cut out of a body. Out:
// bodies, marks (one per event) and Facts. It must never see a clock or a
// connection, never keep a payload after the call, and never invent a count.
package dialect
