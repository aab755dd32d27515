package wirecase

import (
	"fmt"
	"time"
)

// File is one parsed file.
type File struct {
	Path   string
	ID     string   // "A04"; "" in a script that is no case
	Title  string   // one line
	Source string   // where the failure was seen, in own words
	Policy []string // the choice taken where several are defensible
	// Variants is never empty: a file without variants has one without a name.
	Variants []*Variant
}

// Variant is one exchange, or several in a row: request i meets answer i.
type Variant struct {
	Name     string // "" when the file has no variants
	Title    string
	Line     int
	Slow     string // why it runs only when asked for; "": always runs
	Requests []*Request
	Answers  []*Answer
	Expects  []*Expect
}

// Request is what the client is asked to do. The zero value of a field leaves it
// to whoever runs the case.
type Request struct {
	Line     int
	Times    int // ≥ 1
	Dialect  string
	NoStream bool
	N        int64 // choices; 0: not asked
	Output   int64 // tokens asked for
	Prompt   string
	MaxEvent int                      // bytes
	Limits   map[string]time.Duration // by name: first_token, idle, total
	Headers  []string                 // "Name: value"
	Secrets  []string
	Set      []string      // JSON objects merged into the body
	After    time.Duration // pause before it
	CancelAt time.Duration // after its start; 0: never
}

// End is how an answer ends.
type End uint8

// The ends.
const (
	EndNone  End = iota
	EndClean     // as the framing says: the last chunk, or the connection's close
	EndCut       // the connection is closed
	EndReset     // the connection is reset (RST)
	EndHang      // nothing more comes; the connection stays open until the peer closes it
)

// Step is one write or the end of an answer.
type Step struct {
	At   time.Duration // after the complete request was read
	Data []byte
	Raw  bool // written as it is, past the framing
	// Count writes of Data, Every apart; Drip: one byte a write instead.
	Count int
	Every time.Duration
	Drip  bool
	End   End
	// Trailer are header lines behind the last chunk of a clean end.
	Trailer []string
	// For is how long a hang lasts before the connection is closed; 0: for ever.
	For time.Duration
}

// Framing is how a body's end is told.
type Framing uint8

// The framings.
const (
	FramingChunked Framing = iota
	FramingLength          // by Content-Length
	FramingClose           // by the connection's close
)

// Gzip is what an answer does about Content-Encoding: gzip.
type Gzip struct {
	On    bool
	End   bool // flushed at the end only, not after each write
	Asked bool // only when the request's Accept-Encoding allows it
}

// Answer is what a server says to one request.
type Answer struct {
	Line    int
	Times   int    // how many requests in a row get it, ≥ 1
	Refuse  bool   // no connection is taken at all
	Head    []byte // status line and header with the empty line; empty: none is sent
	Framing Framing
	Gzip    Gzip
	Steps   []Step // in order of time; the last one has an End
}

// Expect is what a client must make of one answer.
type Expect struct {
	Line  int
	Times int
	// Want is by key; see Keys. A key of Strict that is not stated must be absent
	// in what the client says.
	Want map[string]string
	// Has and Lacks are parts of the message; Seen and Unseen of the request as
	// the server read it.
	Has, Lacks, Seen, Unseen []string
	// At is the line of each key.
	At map[string]int
}

// Keys are the words of an expect block and whether one that is not stated must
// be absent (true) or is not looked at (false).
var Keys = map[string]bool{
	"outcome": true, "cause": true, "ttft": true, "ttfo": true, "e2e": true, "itl": true, "itl1": true, "tpot": true,
	"events": true, "tok": true, "output": true, "input": true, "cached": true, "reasoning": true,
	"accepted": true, "rejected": true, "verify": true,
	"text": true, "think": true, "tools": true, "finish": true, "flags": true,
	"end": false, "status": false, "kinds": false, "per_event": false, "text_bytes": false, "conn": false,
	"first_event": false, "within": false,
}

// Error is a fault of a file, with its place.
type Error struct {
	Path string
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Msg) }
