package exchange

import (
	"testing"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/tape"
)

// A server may answer before it has read a long body, and the write returns when the
// answer is complete: the tape's stamps stay in order.
func TestAnswerBeforeTheWriteReturns(t *testing.T) {
	ex := New(Config{Dialect: mustChat(t), Options: dialect.Options{Stream: true}})
	for name, c := range map[string]struct{ wrote, want int64 }{"before the end": {15, 15}, "after it": {25, 20}} {
		x := newFlight(ex)
		x.reset()
		req := &tape.Request{Type: "request", ID: "r-0", Phase: tape.PhaseMeasure, TReady: tape.Some[int64](0), TReleased: tape.Some[int64](1)}
		x.record(req, &Prepared{Body: []byte("{}")}, &client.Trace{GotConn: 5, WroteFirst: 10, Wrote: c.wrote, Headers: 12, ConnID: 1, DNS: -1, Dial: -1, TLS: -1, Sent: 2},
			verdict{outcome: tape.OutcomeEmpty, message: "no output came", end: 20})
		if req.TWrote != tape.Some(c.want) {
			t.Errorf("%s: %+v, want %d", name, req.TWrote, c.want)
		}
		if err := req.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an attempt generated is gone with the next one, but for the hash and its buffer.
func TestTextsServeAgain(t *testing.T) {
	ex := New(Config{Dialect: mustChat(t), Options: dialect.Options{Stream: true}, Output: OutputFull, KeepText: true})
	x := newFlight(ex)
	hash := func(text string, choices ...int32) string {
		x.reset()
		for _, k := range choices {
			x.take(dialect.Piece{Choice: k, Kind: tape.KindContent, Text: []byte(text)})
		}
		return x.output().SHA256
	}
	fresh := hash("a short text", 0)
	hash(string(make([]byte, 2*keepLate)), 0, 1, 2)
	x.reset()
	for _, k := range x.texts[:cap(x.texts)] {
		if len(k.late) > 0 || cap(k.late) > keepLate || k.all != nil || k.parts != nil || k.calls != nil {
			t.Errorf("%d and %d bytes are kept", cap(k.late), len(k.all))
		}
	}
	if again := hash("a short text", 0); again != fresh || x.text() != "a short text" {
		t.Errorf("%s and %q, want %s", again, x.text(), fresh)
	}
}
