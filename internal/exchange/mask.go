package exchange

// maxMessage bounds a message on the tape, in bytes.
const maxMessage = 500

// mask takes the secrets out of a text that may have been bounded before it came
// here.
func (e *Exchanger) mask(s string) string { return e.secrets.Cut(s) }

// message makes s fit for the tape: valid UTF-8 on one line, masked, bounded.
func (e *Exchanger) message(s string) string { return e.secrets.Line(s, maxMessage) }

// quote is the beginning of a body for a message: masked, then cut.
func (e *Exchanger) quote(head []byte) string { return e.secrets.Line(string(head), quoted) }
