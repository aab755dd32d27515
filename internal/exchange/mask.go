package exchange

// maxMessage bounds a message on the tape, in bytes.
const maxMessage = 500

// mask takes the secrets out of a text that may have been bounded before it came
// here.
func (e *Exchanger) mask(s string) string { return e.secrets.Cut(s) }

// message makes s fit for the tape: valid UTF-8 on one line, masked, bounded.
func (e *Exchanger) message(s string) string { return e.secrets.Line(s, maxMessage) }

// quote is the beginning of the body for a message: masked, without what it repeats
// of the request, then cut.
func (x *flight) quote() string {
	own := func(s string) string { return s }
	return x.e.secrets.Line(unrepeated(x.e.mask(string(x.head[:min(len(x.head), 2*quoted)])), x.request, own), quoted)
}
