package dialect

import "bytes"

// alike is an event of a stream with its text left out. Most events of a stream are
// the bytes of the one before but for one string, the text. Those need no reading: what
// has the same bytes before and behind a valid string has the same members, so it is as
// valid and means the same, with another text. Whatever else it says was just said;
// nothing of that adds up.
type alike struct {
	head []byte // up to the string's opening quote, that included; empty: there is none
	tail []byte // from behind its closing quote
	mark Mark
}

// maxAlike bounds the events that are kept so, in bytes.
const maxAlike = 4 << 10

// learn keeps a payload whose mark is due to one text alone, a part of it.
func (a *alike) learn(payload []byte, text value, mark Mark) {
	if len(payload) > maxAlike {
		return
	}
	from := cap(payload) - cap(text) // text is a slice of payload
	a.head = append(a.head[:0], payload[:from+1]...)
	a.tail = append(a.tail[:0], payload[from+len(text):]...)
	a.mark = mark
}

func (a *alike) forget() { a.head = a.head[:0] }

// text is the string in which payload differs, quotes included; nil when it is not
// alike.
func (a *alike) text(payload []byte) value {
	n := len(a.head)
	if n == 0 || len(payload) <= n+len(a.tail) || !bytes.Equal(payload[:n], a.head) {
		return nil
	}
	end := validString(payload, n)
	if end < 0 || !bytes.Equal(payload[end:], a.tail) {
		return nil
	}
	return payload[n-1 : end]
}
