// Package simserver is a simulated SGLang server as an http.Handler, with a
// truth trace of what it really did and when.
//
// In: OpenAI-style requests over any net/http server. Out: answers in SGLang's
// form, timed by a model of a continuously batching engine, and for each
// generation request a Truth: when it was received, admitted, prefilled, and
// between which two moments each event was handed to the connection, on the
// machine's monotonic clock, so that a client's stamps can be checked. It must
// never panic on a body, never let a slow reader hold up another request, and
// never answer with anything that a real server could not have said, unless a
// fault or a script asks for it.
//
// # What is served
//
//	POST /v1/chat/completions, /v1/completions   stream and not, one choice
//	POST /v1/responses, /v1/messages             OpenAI's responses, Anthropic's messages
//	POST /generate                               SGLang's own; with inputs: TGI's
//	POST /generate_stream                        TGI's
//	POST /api/chat                               Ollama's
//	POST /completion                             llama.cpp's
//	POST /v2/models/MODEL/generate[_stream]      Triton's
//	GET  /v1/models                              with max_model_len
//	GET  /health, /health_generate, /metrics     without API key, as SGLang
//	GET  /get_server_info, /server_info, /get_model_info, /model_info
//	GET, POST /flush_cache                       counted in Seen like every path
//
// Anything else is 404 {"detail":"Not Found"}. Errors of the API have SGLang's
// form {"object":"error","message":…,"type":…,"param":null,"code":…}; a missing
// API key gets {"error":"Unauthorized"}.
//
// # Faults and scripts
//
// A Fault makes one answer go wrong: by share and seed, by number, or by request
// header. Kinds says what each does. A Script replaces the engine: every POST
// gets the bytes of a timeline at their times (docs/timelines.md), over a
// connection that is taken from net/http.
//
// # Counting
//
// prompt_tokens is a function of the text: 4 tokens around each chat message and
// 3 at the end where the answer begins, and in between one token a CJK rune or
// every four letters (package sim's Counter has the exact rules). A prompt given
// as token ids counts its ids. Every output token is one short word.
// prompt_tokens_details is null at 0 cached tokens, unless CacheReport is
// CacheReportOn, and always with CacheReportOff.
//
// # Writes
//
// Everything of one answer that is due when its goroutine comes to write goes
// out in one Write and one Flush: usually one event; the role chunk together
// with the first token; the finish chunk, usage and [DONE] together with the
// last. Events of several engine steps share a write only when the connection
// was slower than the engine.
package simserver
