// Package sim is the engine model behind simserver: what a continuously batching
// LLM server would do with its time.
//
// In: requests (a counted and hashed prompt, an output limit) and a Clock. Out:
// one Stream a request, whose events say how many tokens came out at which
// scheduled moment, and Stats. Every step has an absolute end, so that lateness
// of one step never moves the next; inside a testing/synctest bubble all moments
// are exact to the nanosecond. It must never know HTTP or JSON, never block on a
// slow reader of a stream, and never sleep relative to the present.
//
// # Time
//
// A step begins at the end of the step before it, or, when the engine was idle,
// at the arrival of the request that ended the idleness. A request is admitted at
// the first step that begins at or after its arrival while a slot is free, in
// order of arrival.
//
//	prefill step  PrefillFixed + PrefillPerToken · (uncached prompt tokens of all admitted requests)
//	decode step   DecodeBase + DecodePerSeq · (running requests)
//
// A request's first token comes at the end of its prefill, each further event at
// the end of a decode step. Without ChunkTokens a prefill step runs alone and the
// running requests wait (SGLang's default); with it, one step carries a decode
// and up to ChunkTokens prompt tokens, at the sum of both costs. Disaggregated
// gives prefill and decode a timeline each, so that they do not disturb each
// other.
//
// # Tokens
//
// The simulated tokenizer (Counter) is a function of the text alone; see its
// comment. Output is made of words of exactly one such token each, so an answer
// that comes back in the next turn's prompt counts and hashes as it was
// generated, and hits the prefix cache as on a real server.
package sim
