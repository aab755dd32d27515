// Package probe is what tokentape learns of a server before the first request of a
// load: what it is, and what it can and cannot report.
//
// In: the server's address, the user's credentials and, for what only generations
// tell, a client and the API. Out: its model ids, engine and version, or a refusal
// that says what came back; steps with time and verdict; the probe's requests and the
// capabilities that they proved, in the tape's words.
//
// Preflight and Look send nothing but GETs, and do not fail for an endpoint that a
// server need not have. A Prober sends generations of its own neutral prompts, few
// and short, each and all bounded in time. It must never send a row of the user's dataset,
// nor a prompt twice unless asked to touch the cache, nor one meant to overfill a context.
package probe
