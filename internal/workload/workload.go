package workload

import "encoding/json"

// Item is one thing to ask.
type Item struct {
	Ref      Ref
	Messages []Message // chat APIs; the last is the user's
	Prompt   string    // the rendered template, for completion APIs
	// OutputLen is the requested number of output tokens; 0 leaves it to the
	// spec, and then to the server.
	OutputLen int64
	// Extra are body fields of this row alone; they win over the spec's.
	Extra map[string]json.RawMessage
}

// Ref names the row behind an item.
type Ref struct {
	Row    int64  // 0-based
	Offset int64  // bytes from the start of the dataset file
	SHA256 string // of the row's raw bytes, hex
}

// Message is one chat message.
type Message struct {
	Role    string
	Content string
}

// Source yields items by row number.
type Source interface {
	// Len is the number of rows.
	Len() int64
	// Item renders row i (0 ≤ i < Len). Its errors name path:line and field.
	Item(i int64) (Item, error)
}
