// Package chattmpl renders messages with a model's own chat template, so that the
// prompt that a server will build can be counted before it is sent.
//
// In: a model folder (tokenizer_config.json, chat_template.jinja or
// chat_template.json) and messages. Out: the text that a server with the same
// files feeds to its tokenizer; it holds its special tokens, so it is encoded
// without adding any.
//
// It must never guess: a template that cannot be rendered, or that refuses the
// messages, is an error. It must never read the clock: a template that asks for
// the date gets the one that the caller fixed, or fails.
package chattmpl
