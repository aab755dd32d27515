// Package tokenizer counts tokens exactly, with the model's own tokenizer files.
//
// In: a model folder or one file of it: tokenizer.json (Hugging Face),
// tokenizer.model (SentencePiece) or *.tiktoken, and any text. Out: token ids,
// their byte offsets, counts, and text again from ids. The reference for
// tokenizer.json is the tokenizers library 0.22, for tokenizer.model the
// sentencepiece library, for .tiktoken the tiktoken library; the tests hold this
// package against them.
//
// Text that is not valid UTF-8 is read as those libraries read it: every
// ill-formed sequence (a maximal subpart, Unicode 15 §3.9) becomes U+FFFD first;
// for tokenizer.model every ill-formed byte becomes one.
//
// It must never guess: a file that asks for something that is not implemented
// here is refused with the JSON path of it. It must never read a clock, the
// network or any other room.
package tokenizer
