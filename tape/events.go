package tape

import (
	"iter"
	"math"
	"strconv"
)

// KindCoder run-length codes kind letters as they come, one an event: "rcccfud"
// becomes "r c3 f u d". A run of one has no number. The zero KindCoder is ready.
type KindCoder struct {
	code []byte // of the runs that ended
	kind byte   // of the one that goes on
	n    int    // its length; 0: nothing came yet
}

// Add codes one more event.
func (c *KindCoder) Add(kind byte) {
	if kind == c.kind && c.n > 0 {
		c.n++
		return
	}
	c.code = c.append(c.code)
	c.kind, c.n = kind, 1
}

// append appends the run that goes on.
func (c *KindCoder) append(b []byte) []byte {
	if c.n == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ' ')
	}
	b = append(b, c.kind)
	if c.n > 1 {
		b = strconv.AppendInt(b, int64(c.n), 10)
	}
	return b
}

// Code is the code of what was added since the last Reset.
func (c *KindCoder) Code() string { return string(c.append(c.code[:len(c.code):len(c.code)])) }

// Reset forgets what was added.
func (c *KindCoder) Reset() { *c = KindCoder{code: c.code[:0]} }

// EncodeKinds codes one kind letter an event, as a KindCoder does.
func EncodeKinds(kinds []byte) string {
	var c KindCoder
	for _, k := range kinds {
		c.Add(k)
	}
	return c.Code()
}

// runs yields the runs of a kind code: letter and length, in order. Any byte
// that is neither a digit nor white space is a letter; digits without a letter
// before them are passed over; a length too large for int is the largest int.
func runs(code string) iter.Seq2[byte, int] {
	return func(yield func(byte, int) bool) {
		for i := 0; i < len(code); {
			letter := code[i]
			i++
			if letter <= ' ' || isDigit(letter) {
				continue
			}
			n, digits := 0, false
			for ; i < len(code) && isDigit(code[i]); i++ {
				digits = true
				if d := int(code[i] - '0'); n > (math.MaxInt-d)/10 {
					n = math.MaxInt
				} else {
					n = n*10 + d
				}
			}
			if !digits {
				n = 1
			}
			if !yield(letter, n) {
				return
			}
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// countKinds is the number of events that a kind code describes.
func countKinds(code string) int {
	total := 0
	for _, n := range runs(code) {
		if n > math.MaxInt-total {
			return math.MaxInt
		}
		total += n
	}
	return total
}

// Kinds yields each event's index and kind letter. It never goes past the last
// entry of DT, whatever the code says, and ends early when the code describes
// fewer events; unknown letters are given as they stand.
func (e Events) Kinds() iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		i := 0
		for letter, n := range runs(e.Kind) {
			for ; n > 0; n-- {
				if i == len(e.DT) || !yield(i, letter) {
					return
				}
				i++
			}
		}
	}
}

// Runs yields the kind and the number of each run of events alike, in order: all
// of DT, no more. Events that the code does not describe are KindOther. A run may
// be empty.
func (e Events) Runs() iter.Seq2[byte, int] {
	return func(yield func(byte, int) bool) {
		left := len(e.DT)
		for letter, n := range runs(e.Kind) {
			n = min(n, left)
			left -= n
			if !yield(letter, n) {
				return
			}
		}
		if left > 0 {
			yield(KindOther, left)
		}
	}
}

// EventsFrom is the moment from which the first entry of events.dt counts, in
// nanoseconds since the run's epoch: t_wrote_first, or t_released where the tool
// that was imported from did not see the write. Absent: the events have no time.
func (r *Request) EventsFrom() Opt[int64] {
	if r.TWroteFirst.OK {
		return r.TWroteFirst
	}
	return r.TReleased
}

// Event is one entry of Events, unfolded.
type Event struct {
	T      int64 // nanoseconds since the run's epoch
	Kind   byte  // a Kind… letter; KindOther where the code ends early
	Tok    int64 // the server's running output-token count, −1 when it sent none
	Choice int32
}

// All yields every event with its absolute time; from is
// Request.EventsFrom.
func (e Events) All(from int64) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		next := 0
		give := func(kind byte) bool {
			from += e.DT[next]
			ev := Event{T: from, Kind: kind, Tok: -1}
			if next < len(e.Tok) {
				ev.Tok = e.Tok[next]
			}
			if next < len(e.Choice) {
				ev.Choice = e.Choice[next]
			}
			next++
			return yield(next-1, ev)
		}
		for _, kind := range e.Kinds() {
			if !give(kind) {
				return
			}
		}
		for next < len(e.DT) {
			if !give(KindOther) {
				return
			}
		}
	}
}
