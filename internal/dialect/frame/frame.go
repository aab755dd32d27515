package frame

// Kind is a way of framing.
type Kind int

// The ways a body is cut into payloads.
const (
	SSE Kind = iota
	NDJSON
	JSON
)

// Max is the default limit of one payload in bytes: 64 MiB.
const Max = 64 << 20
