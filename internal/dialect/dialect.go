package dialect

import (
	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
)

// Unknown marks a count that the server did not report.
const Unknown int64 = -1

// Options are the request parts that the spec, not the item, decides.
type Options struct {
	Model     string
	Stream    bool
	OutputLen int64 // 0: not asked; the item's own length wins
	// LengthField carries the output length in place of the API's own field; "": that.
	LengthField string
	Sampling    map[string]any // merged into the body; keys sorted so that equal specs give equal bytes
}

// Dialect is one way of talking to a server. Implementations are stateless and
// safe for concurrent use.
type Dialect interface {
	// Name is the value of target.api.
	Name() string
	// Path is the endpoint: under the API root when it begins with "/v1/",
	// under the server's root otherwise.
	Path() string
	// Header are the fields that the API wants in every request's header. Those
	// that the user gives win.
	Header() map[string]string
	// Framing says how a streamed body is cut into payloads.
	Framing() frame.Kind
	// Body is the request body. Its error names the field that cannot be sent.
	Body(workload.Item, Options) ([]byte, error)
	// Asked is how many output tokens that body asks for; 0: none.
	Asked(workload.Item, Options) int64
	// NewDecoder makes a decoder for one response.
	NewDecoder() Decoder
}

// Mark is one event's meaning: a letter of tape.Events.Kind, the choice it
// belongs to, and the running output-token count it carried (Unknown: none).
type Mark struct {
	Kind   byte
	Choice int32
	Tok    int64
}

// Decoder reads the payloads of one response in order. It is not safe for
// concurrent use; Reset makes it ready for another response.
type Decoder interface {
	// Event reads one framed payload of a stream (for SSE: the joined data
	// lines, name is the event field). It appends one Mark per event to dst:
	// exactly one, or one per choice that carries output. The payload and any
	// text handed to Sink are valid during the call only. A payload that is not
	// what the dialect knows is counted in Facts.Malformed, never an error.
	Event(name string, payload []byte, dst []Mark) []Mark
	// Whole reads a one-shot (not streamed) body.
	Whole(body []byte)
	// Facts is what is known so far; valid until Reset.
	Facts() *Facts
	// SetSink gives generated text away as it comes; nil drops it.
	SetSink(Sink)
	Reset()
}

// Prompted is a decoder of an API that may repeat the prompt before the output.
type Prompted interface {
	// SetPrompt says what was asked, after Reset and before the first payload.
	SetPrompt(string)
}

// Choosing is a dialect whose body can ask for several choices of one prompt.
type Choosing interface {
	// Choices is how many choices the body of this item asks for, 1 when it does
	// not say.
	Choices(workload.Item, Options) int64
}

// Bounding is a dialect that has a field of the body for the output length.
type Bounding interface {
	// LengthField is the field that carries it; "": the body has no such field.
	LengthField(Options) string
}

// Sink takes generated text as it comes.
type Sink func(Piece)

// Piece is generated text of one event.
type Piece struct {
	Kind   byte   // a token letter
	Choice int32  // the choice it belongs to
	Call   int32  // of a tool call: which one of that choice
	Text   []byte // not empty; valid during the call only
}

// Figure is a number that the engine says about its own work. Its unit is in the
// name: prompt_ms, total_duration_ns.
type Figure struct {
	Name  string
	Value float64
}

// Facts are what a response said. Counts are Unknown when absent.
type Facts struct {
	Finish    string // verbatim finish reason of the first choice to end; "" none
	Done      bool   // [DONE], or the dialect's own last-event mark
	EndIsDone bool   // a clean end of body is this dialect's end mark
	Whole     bool   // a one-shot answer was read
	HasOutput bool   // some generated output came (text, reasoning, tool call, refusal)
	Refused   bool   // some of it was a refusal

	Input, Output, Cached, Reasoning int64
	Accepted, Rejected, Verify       int64
	Drafted                          int64    // proposed drafts, where the server counts those
	StepsAccepting                   []int64  // verify steps by how many drafts they accepted; valid until the next Reset
	Tiers                            Tiers    // of Cached
	Unread                           []Unread // counts that came and are none
	CountSource                      string   // tape.SourceUsage or tape.SourceEngine, when Output is known
	InputSource                      string   // the same of Input
	Engine                           []Figure
	Model                            string // that the reply named, the last one if several; "": none; at most 200 bytes

	Err       *ServerError // an error inside the body
	Malformed int          // payloads that could not be read
	Sample    string       // first bytes of the first malformed payload, at most 200

	Choices int // distinct choices that carried output or a finish
	Ended   int // of these, how many gave a finish reason
}

// ServerError is an error object inside a response body.
type ServerError struct {
	Code    string
	Type    string
	Message string // bounded to 500 bytes
}
