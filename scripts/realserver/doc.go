// Command realserver writes the model that scripts/real-server.sh serves: a
// llama-architecture GGUF of random weights with a real byte-level BPE tokenizer.
//
// In: a Hugging Face tokenizer.json. Out: a GGUF file, and the tokenizer cut to
// the same vocabulary, so that token counts can be checked independently. It is
// for end-to-end checks alone and must never be imported by the tool.
package main
