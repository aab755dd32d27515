// Package synth makes prompts of an exact token length and sets of them with a
// known share of cached tokens, and tells what any set asks of a prefix cache.
//
// In: parameters or a finished set, a Tokenizer, optionally a corpus and files of
// lengths. Out: rows of JSON lines, a Manifest that says what each row counts and
// what a prefix cache owes it, and an Inspection of any set. It must never write
// a prompt whose length it has not counted again from the finished text, never
// guess a count without a tokenizer, and never know when a row is sent.
package synth
