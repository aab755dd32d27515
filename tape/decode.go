package tape

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
)

// decodeRequest reads a request line. The quick way knows what this package and
// its like write; a line that surprises it in any way goes to encoding/json
// whole, which alone decides what is wrong with a line.
func decodeRequest(line []byte) (*Request, error) {
	r := new(Request)
	c := cursor{b: line}
	c.request(r)
	if c.space(); !c.bad && c.i == len(line) {
		return r, nil
	}
	r = new(Request)
	err := json.Unmarshal(line, r)
	return r, err
}

func (c *cursor) request(r *Request) {
	c.object(func(key []byte) {
		switch string(key) {
		case "type":
			c.text(&r.Type)
		case "seq":
			c.int64(&r.Seq)
		case "id":
			c.text(&r.ID)
		case "phase":
			c.text((*string)(&r.Phase))
		case "worker":
			c.int(&r.Worker)
		case "part":
			c.opt(&r.Part)
		case "session":
			if r.Session.OK = !c.null(); r.Session.OK {
				c.text(&r.Session.V)
			}
		case "turn":
			c.int(&r.Turn)
		case "ref":
			c.object(func(key []byte) {
				switch string(key) {
				case "row":
					c.int64(&r.Ref.Row)
				case "offset":
					c.int64(&r.Ref.Offset)
				case "dataset":
					c.int64(&r.Ref.Data)
				case "sha256":
					c.text(&r.Ref.SHA256)
				default:
					c.skip(key)
				}
			})
		case "t_due":
			c.opt(&r.TDue)
		case "t_ready":
			c.opt(&r.TReady)
		case "t_released":
			c.opt(&r.TReleased)
		case "t_conn":
			c.opt(&r.TConn)
		case "conn":
			if c.null() {
				r.Conn = nil
				return
			}
			if r.Conn == nil {
				r.Conn = new(Conn)
			}
			c.object(func(key []byte) {
				switch string(key) {
				case "id":
					c.int64(&r.Conn.ID)
				case "reused":
					c.bool(&r.Conn.Reused)
				case "remote":
					c.text(&r.Conn.Remote)
				case "dns_ns":
					c.opt(&r.Conn.DNS)
				case "dial_ns":
					c.opt(&r.Conn.Dial)
				case "tls_ns":
					c.opt(&r.Conn.TLS)
				default:
					c.skip(key)
				}
			})
		case "url":
			c.opt(&r.URL)
		case "t_wrote_first":
			c.opt(&r.TWroteFirst)
		case "t_wrote":
			c.opt(&r.TWrote)
		case "t_headers":
			c.opt(&r.THeaders)
		case "t_first_event":
			c.opt(&r.TFirstEvent)
		case "t_first_token":
			c.opt(&r.TFirstToken)
		case "t_first_visible":
			c.opt(&r.TFirstVisible)
		case "t_last_token":
			c.opt(&r.TLastToken)
		case "t_end":
			c.opt(&r.TEnd)
		case "events":
			c.events(&r.Events)
		case "asked":
			c.object(func(key []byte) {
				switch string(key) {
				case "output":
					c.opt(&r.Asked.Output)
				case "input":
					c.opt(&r.Asked.Input)
				case "cached":
					c.opt(&r.Asked.Cached)
				case "group":
					c.text(&r.Asked.Group)
				default:
					c.skip(key)
				}
			})
		case "tokens":
			c.tokens(&r.Tokens)
		case "steps_accepting":
			ints(c, &r.StepsAccepting)
		case "bytes":
			c.object(func(key []byte) {
				switch string(key) {
				case "sent":
					c.int64(&r.Bytes.Sent)
				case "body":
					c.int64(&r.Bytes.Body)
				case "reads":
					c.int64(&r.Bytes.Reads)
				default:
					c.skip(key)
				}
			})
		case "http":
			c.object(func(key []byte) {
				switch string(key) {
				case "status":
					c.int(&r.HTTP.Status)
				case "proto":
					c.text(&r.HTTP.Proto)
				default:
					c.skip(key)
				}
			})
		case "retry_after_ns":
			c.opt(&r.RetryAfter)
		case "engine":
			c.std(&r.Engine)
		case "model":
			if r.Model.OK = !c.null(); r.Model.OK {
				c.text(&r.Model.V)
			} else {
				r.Model.V = ""
			}
		case "finish":
			c.text(&r.Finish)
		case "outcome":
			c.text((*string)(&r.Outcome))
		case "cause":
			c.text(&r.Cause)
		case "message":
			c.text(&r.Message)
		case "flags":
			c.std(&r.Flags)
		case "attempts":
			c.int(&r.Attempts)
		case "attempt_log":
			c.std(&r.AttemptLog)
		case "output":
			c.std(&r.Output)
		case "src":
			if c.null() {
				r.Src = nil
				return
			}
			if r.Src == nil {
				r.Src = new(Src)
			}
			c.object(func(key []byte) {
				if string(key) == "t" {
					c.floats(&r.Src.T)
				} else {
					c.skip(key)
				}
			})
		default:
			c.skip(key)
		}
	})
}

func (c *cursor) tokens(t *Tokens) {
	c.object(func(key []byte) {
		switch string(key) {
		case "input":
			c.opt(&t.Input)
		case "input_source":
			c.text(&t.InputSource)
		case "output":
			c.opt(&t.Output)
		case "output_source":
			c.text(&t.OutputSource)
		case "recount":
			c.opt(&t.Recount)
		case "cached":
			c.opt(&t.Cached)
		case "reasoning":
			c.opt(&t.Reasoning)
		case "accepted":
			c.opt(&t.Accepted)
		case "rejected":
			c.opt(&t.Rejected)
		case "verify":
			c.opt(&t.Verify)
		case "drafted":
			c.opt(&t.Drafted)
		case "cached_device":
			c.opt(&t.CachedDevice)
		case "cached_host":
			c.opt(&t.CachedHost)
		case "cached_storage":
			c.opt(&t.CachedStorage)
		case "cached_backend":
			c.text(&t.CachedBackend)
		case "unread":
			c.text(&t.Unread)
		default:
			c.skip(key)
		}
	})
}

func (c *cursor) events(e *Events) {
	c.object(func(key []byte) {
		switch string(key) {
		case "dt":
			ints(c, &e.DT)
		case "kind":
			c.text(&e.Kind)
		case "tok":
			ints(c, &e.Tok)
		case "choice":
			ints(c, &e.Choice)
		default:
			c.skip(key)
		}
	})
}

// cursor reads JSON into model types as encoding/json would, or turns bad.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

func (c *cursor) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t' || c.b[c.i] == '\r' || c.b[c.i] == '\n') {
		c.i++
	}
}

// is steps over ch.
func (c *cursor) is(ch byte) bool {
	if !c.bad && c.i < len(c.b) && c.b[c.i] == ch {
		c.i++
		return true
	}
	return false
}

func (c *cursor) null() bool {
	if bytes.HasPrefix(c.b[c.i:], []byte("null")) {
		c.i += 4
		return true
	}
	return false
}

// object calls field with the cursor on each field's value; null has none.
func (c *cursor) object(field func(key []byte)) {
	if c.null() {
		return
	}
	if !c.is('{') {
		c.bad = true
		return
	}
	if c.space(); c.is('}') {
		return
	}
	for {
		from := c.i
		plain := c.quoted()
		if !plain {
			c.bad = true // an escape in a name: not ours
			return
		}
		key := c.b[from+1 : c.i-1]
		if c.space(); !c.is(':') {
			c.bad = true
			return
		}
		c.space()
		field(key)
		if c.bad {
			return
		}
		if c.space(); c.is('}') {
			return
		}
		if !c.is(',') {
			c.bad = true
			return
		}
		c.space()
	}
}

// quoted steps over a string and reports whether it is printable ASCII without
// escapes. The cursor turns bad where no string is.
func (c *cursor) quoted() (plain bool) {
	if !c.is('"') {
		c.bad = true
		return false
	}
	plain = true
	for ; c.i < len(c.b); c.i++ {
		switch ch := c.b[c.i]; {
		case ch == '"':
			c.i++
			return plain
		case ch == '\\':
			c.i++
			plain = false
		case ch < ' ' || ch > '~':
			plain = false
		}
	}
	c.bad = true
	return false
}

func (c *cursor) text(s *string) {
	if c.null() {
		return
	}
	from := c.i
	plain := c.quoted()
	switch {
	case c.bad:
	case plain:
		*s = string(c.b[from+1 : c.i-1])
	default:
		c.bad = json.Unmarshal(c.b[from:c.i], s) != nil
	}
}

func (c *cursor) bool(v *bool) {
	switch {
	case c.null():
	case bytes.HasPrefix(c.b[c.i:], []byte("true")):
		c.i += 4
		*v = true
	case bytes.HasPrefix(c.b[c.i:], []byte("false")):
		c.i += 5
		*v = false
	default:
		c.bad = true
	}
}

// number reads an integer of at most digits digits, which must surely fit.
func (c *cursor) number(digits int) int64 {
	neg := c.is('-')
	from, n := c.i, int64(0)
	for ; c.i < len(c.b) && isDigit(c.b[c.i]); c.i++ {
		n = n*10 + int64(c.b[c.i]-'0')
	}
	d := c.i - from
	if d == 0 || d > digits || d > 1 && c.b[from] == '0' {
		c.bad = true
	}
	if neg {
		return -n
	}
	return n
}

const digits64, digits32 = 18, 9

func (c *cursor) int64(v *int64) {
	if !c.null() {
		*v = c.number(digits64)
	}
}

func (c *cursor) int(v *int) {
	if !c.null() {
		*v = int(c.number(digits32))
	}
}

func (c *cursor) opt(o *Opt[int64]) {
	*o = Opt[int64]{}
	if !c.null() {
		*o = Some(c.number(digits64))
	}
}

func ints[T int32 | int64](c *cursor, to *[]T) {
	if c.null() {
		*to = nil
		return
	}
	end := bytes.IndexByte(c.b[c.i:], ']')
	if end < 0 || !c.is('[') {
		c.bad = true
		return
	}
	v := make([]T, 0, bytes.Count(c.b[c.i:c.i+end-1], []byte(","))+1)
	digits := digits64
	if _, small := any(T(0)).(int32); small {
		digits = digits32
	}
	*to = v
	if c.space(); c.is(']') {
		return
	}
	b, i := c.b, c.i // in registers: this loop is where reading spends its time
	for {
		// The quick case: at most eight digits, then a comma and a digit, no more.
		if i+9 < len(b) {
			x := binary.LittleEndian.Uint64(b[i:]) ^ '0'*each // digits become 0 to 9
			d := 8
			// Gaps of one stream have lengths alike: with a guess at the length the next
			// number need not wait until this one's is known.
			switch other := others(x); {
			case other == 0:
			case other<<8 == 0:
				d = 7
			default:
				d = bits.TrailingZeros64(other) / 8
			}
			if d > 0 && b[i+d] == ',' && isDigit(b[i+d+1]) && (b[i] != '0' || d == 1) {
				v = append(v, T(eight(x<<uint(64-8*d))))
				i += d + 1
				continue
			}
		}
		c.i = i
		v = append(v, T(c.number(digits)))
		if c.space(); c.is(']') {
			*to = v
			return
		}
		if !c.is(',') {
			c.bad = true
			return
		}
		c.space()
		i = c.i
	}
}

const each = 0x0101010101010101

// others marks the bytes above 9 by their top bit. A carry can only falsify
// bytes behind the first of them.
func others(x uint64) uint64 {
	return ((x + (0x7f-9)*each) | x) & (0x80 * each)
}

// eight is the number of eight decimal digits, one a byte, the first in the
// lowest.
func eight(x uint64) uint64 {
	const pairs = 0x000000ff000000ff
	x = x*10 + x>>8 // in every second byte
	return ((x&pairs)*(100+1000000<<32) + (x>>16&pairs)*(1+10000<<32)) >> 32
}

// floats reads an array of numbers, each of the form that JSON allows.
func (c *cursor) floats(to *[]float64) {
	if c.null() {
		*to = nil
		return
	}
	end := bytes.IndexByte(c.b[c.i:], ']')
	if end < 0 || !c.is('[') {
		c.bad = true
		return
	}
	v := make([]float64, 0, bytes.Count(c.b[c.i:c.i+end-1], []byte(","))+1)
	*to = v
	if c.space(); c.is(']') {
		return
	}
	for !c.bad {
		from := c.i
		c.fraction()
		f, err := strconv.ParseFloat(string(c.b[from:c.i]), 64)
		if err != nil {
			c.bad = true
			return
		}
		v = append(v, f)
		*to = v
		if c.space(); c.is(']') {
			return
		}
		if !c.is(',') {
			c.bad = true
			return
		}
		c.space()
	}
}

// fraction steps over a number.
func (c *cursor) fraction() {
	digits := func() {
		from := c.i
		for c.i < len(c.b) && isDigit(c.b[c.i]) {
			c.i++
		}
		c.bad = c.bad || c.i == from
	}
	c.is('-')
	if !c.is('0') {
		digits()
	}
	if c.is('.') {
		digits()
	}
	if c.is('e') || c.is('E') {
		if !c.is('+') {
			c.is('-')
		}
		digits()
	}
}

// std leaves the value to encoding/json.
func (c *cursor) std(v any) {
	from := c.i
	c.pass()
	if !c.bad {
		c.bad = json.Unmarshal(c.b[from:c.i], v) != nil
	}
}

// skip passes over an unknown field. A name that is not plain lower case might
// be one that encoding/json knows in another spelling.
func (c *cursor) skip(key []byte) {
	for _, ch := range key {
		if ch != '_' && !isDigit(ch) && (ch < 'a' || ch > 'z') {
			c.bad = true
			return
		}
	}
	from := c.i
	c.pass()
	c.bad = c.bad || !json.Valid(c.b[from:c.i])
}

// pass steps over a value; what is wrong inside is left to encoding/json.
func (c *cursor) pass() {
	for depth := 0; !c.bad && c.i < len(c.b); {
		switch c.b[c.i] {
		case '"':
			if c.quoted(); depth == 0 {
				return
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return
			}
			if depth == 0 {
				c.i++
				return
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
		c.i++
	}
}

// lineType is the value of the first type field of an object's top level, ""
// when that takes more than a look.
func lineType(line []byte) string {
	typ := ""
	c := cursor{b: line}
	c.space()
	c.object(func(key []byte) {
		if string(key) == "type" {
			c.text(&typ)
			c.bad = true // enough
			return
		}
		c.pass()
	})
	return typ
}
