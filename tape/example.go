package tape

// Example is the first failure of its class, with the bytes that were exchanged:
// what a table of counts cannot say. A class is an outcome with its cause and
// status. The attempt's request line says the rest.
//
// Texts of Request, Response, Head, Event and Tail have secrets masked. In the
// last three every byte is itself but for `\n`, `\r`, `\t`, `\\` and `\xNN`, which
// stand for what is not printable; `[N bytes of the request]` stands for what the
// server repeated of the request's body.
type Example struct {
	Type    string     `json:"type"` // "example"
	Seq     int64      `json:"seq"`
	Phase   Phase      `json:"phase"`
	Attempt int        `json:"attempt"` // from 1
	T       int64      `json:"t"`       // the attempt ended
	Outcome Outcome    `json:"outcome"`
	Cause   string     `json:"cause,omitempty"`
	Message string     `json:"message,omitempty"` // as of the attempt
	Part    Opt[int64] `json:"part,omitzero"`     // as of a request

	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Request []string `json:"request_header,omitempty"` // "Name: value", as tokentape set them; credentials masked
	Sent    int64    `json:"sent"`                     // bytes of the body; the body itself is never here

	Status   int      `json:"status,omitempty"` // 0: no response
	Proto    string   `json:"proto,omitempty"`
	Response []string `json:"response_header,omitempty"`

	Body    int64      `json:"body"`              // bytes of the response's body that came
	Events  int64      `json:"events,omitempty"`  // events read of them
	Head    string     `json:"head,omitempty"`    // the first bytes
	Event   string     `json:"event,omitempty"`   // payload of the first event at fault
	EventAt Opt[int64] `json:"event_at,omitzero"` // offset in the body of the byte behind it
	EventNo Opt[int64] `json:"event_no,omitzero"` // events before it
	Tail    string     `json:"tail,omitempty"`    // the last bytes, of a body longer than Head
	TailAt  Opt[int64] `json:"tail_at,omitzero"`  // offset in the body of its first byte
}

// Class is what the failures have in common of which this is the first.
func (e *Example) Class() Class { return ClassOf(e.Outcome, e.Cause, e.Status) }

// Class tells failures apart: by outcome, cause and, where that is the failure,
// status.
type Class struct {
	Outcome Outcome
	Cause   string
	Status  int
}

// ClassOf is the class of an attempt that ended so. The status counts where it is
// what failed.
func ClassOf(o Outcome, cause string, status int) Class {
	if o != OutcomeStatus && o != OutcomeRedirect {
		status = 0
	}
	return Class{o, cause, status}
}

func (*Example) record() {}
