package workload

import "encoding/json"

// Item is one thing to ask.
type Item struct {
	Ref      Ref
	Messages []Message // chat APIs; the last is the user's
	Prompt   string    // the rendered template, for completion APIs
	// TokenIDs are the prompt in place of text, for APIs that take ids.
	TokenIDs []int32
	// Body is the whole request body, sent as it is but for the fields named in
	// Override ("model", "stream"), which the spec gives; everything else but Ref,
	// OutputLen and the lengths is then empty.
	Body     json.RawMessage
	Override []string
	// OutputLen is the requested number of output tokens; 0 leaves it to the
	// spec, and then to the server.
	OutputLen int64
	// InputLen is the number of prompt tokens that a trace gives for this item;
	// 0: not known.
	InputLen int64
	// At is when a trace sent this item, in ns after its first; 0 without times.
	At int64
	// Extra are body fields of this row alone; they win over the spec's.
	Extra map[string]json.RawMessage
}

// Ref names the row behind an item.
type Ref struct {
	Row    int64  // 0-based
	Offset int64  // bytes from the start of the dataset file
	SHA256 string // of the row's raw bytes, hex
	Data   int    // which dataset of a mix, 0-based
}

// Message is one chat message.
type Message struct {
	Role    string
	Content string // its text; of several parts all text
	// Raw is the whole message in the form of the OpenAI chat API when it holds
	// more than a role and a text: parts such as images, tool calls, a name. An API
	// of another form must refuse it rather than send the text alone.
	Raw json.RawMessage
}

// Source yields items by row number.
type Source interface {
	// Len is the number of rows.
	Len() int64
	// Item renders row i (0 ≤ i < Len). Its errors name path:line and field.
	Item(i int64) (Item, error)
}

// Timed is a source whose items can carry times: a trace, for a plan that sends
// them when the trace did.
type Timed interface {
	Source
	// Times are when the items were sent, in ns after the first, one per item and
	// ascending; nil when the rows carry none. The caller must not change them.
	Times() []int64
}
