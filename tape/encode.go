package tape

import (
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// appendRequest appends r as one JSON object without a line end. It means the
// same as encoding/json with the tags of model.go (a test proves it), at a
// tenth of the cost: request lines are all but a handful of a tape's bytes.
func appendRequest(b []byte, r *Request) []byte {
	b = append(b, `{"type":"request"`...)
	b = appendInt(b, `,"seq":`, r.Seq)
	b = appendTextIf(b, `,"id":`, r.ID)
	b = appendText(b, `,"phase":`, string(r.Phase))
	b = appendInt(b, `,"worker":`, int64(r.Worker))
	b = appendOpt(b, `,"part":`, r.Part)
	if r.Session.OK {
		b = appendText(b, `,"session":`, r.Session.V)
	}
	b = appendInt(b, `,"turn":`, int64(r.Turn))
	b = appendInt(b, `,"ref":{"row":`, r.Ref.Row)
	b = appendInt(b, `,"offset":`, r.Ref.Offset)
	b = appendTextIf(b, `,"sha256":`, r.Ref.SHA256)
	if r.Ref.Data != 0 {
		b = appendInt(b, `,"dataset":`, r.Ref.Data)
	}
	b = append(b, '}')

	b = appendOpt(b, `,"t_due":`, r.TDue)
	b = appendOpt(b, `,"t_ready":`, r.TReady)
	b = appendOpt(b, `,"t_released":`, r.TReleased)
	b = appendOpt(b, `,"t_conn":`, r.TConn)
	if c := r.Conn; c != nil {
		b = appendInt(b, `,"conn":{"id":`, c.ID)
		b = append(b, `,"reused":`...)
		b = strconv.AppendBool(b, c.Reused)
		b = appendTextIf(b, `,"remote":`, c.Remote)
		b = appendOpt(b, `,"dns_ns":`, c.DNS)
		b = appendOpt(b, `,"dial_ns":`, c.Dial)
		b = appendOpt(b, `,"tls_ns":`, c.TLS)
		b = append(b, '}')
	}
	b = appendOpt(b, `,"url":`, r.URL)
	b = appendOpt(b, `,"t_wrote_first":`, r.TWroteFirst)
	b = appendOpt(b, `,"t_wrote":`, r.TWrote)
	b = appendOpt(b, `,"t_headers":`, r.THeaders)
	b = appendOpt(b, `,"t_first_event":`, r.TFirstEvent)
	b = appendOpt(b, `,"t_first_token":`, r.TFirstToken)
	b = appendOpt(b, `,"t_first_visible":`, r.TFirstVisible)
	b = appendOpt(b, `,"t_last_token":`, r.TLastToken)
	b = appendOpt(b, `,"t_end":`, r.TEnd)

	if !r.Events.IsZero() {
		b = append(b, `,"events":`...)
		b = appendEvents(b, &r.Events)
	}
	if r.Asked != (Asked{}) {
		b = append(b, `,"asked":{`...)
		from := len(b)
		b = appendOpt(b, `,"output":`, r.Asked.Output)
		b = appendOpt(b, `,"input":`, r.Asked.Input)
		b = appendOpt(b, `,"cached":`, r.Asked.Cached)
		b = appendTextIf(b, `,"group":`, r.Asked.Group)
		b = append(dropComma(b, from), '}')
	}
	if t := &r.Tokens; *t != (Tokens{}) {
		b = append(b, `,"tokens":{`...)
		from := len(b)
		b = appendOpt(b, `,"input":`, t.Input)
		b = appendTextIf(b, `,"input_source":`, t.InputSource)
		b = appendOpt(b, `,"output":`, t.Output)
		b = appendTextIf(b, `,"output_source":`, t.OutputSource)
		b = appendOpt(b, `,"recount":`, t.Recount)
		b = appendOpt(b, `,"cached":`, t.Cached)
		b = appendOpt(b, `,"reasoning":`, t.Reasoning)
		b = appendOpt(b, `,"accepted":`, t.Accepted)
		b = appendOpt(b, `,"rejected":`, t.Rejected)
		b = appendOpt(b, `,"verify":`, t.Verify)
		b = appendOpt(b, `,"drafted":`, t.Drafted)
		b = appendOpt(b, `,"cached_device":`, t.CachedDevice)
		b = appendOpt(b, `,"cached_host":`, t.CachedHost)
		b = appendOpt(b, `,"cached_storage":`, t.CachedStorage)
		b = appendTextIf(b, `,"cached_backend":`, t.CachedBackend)
		b = appendTextIf(b, `,"unread":`, t.Unread)
		b = append(dropComma(b, from), '}')
	}
	if len(r.StepsAccepting) > 0 {
		b = appendInts(append(b, `,"steps_accepting":`...), r.StepsAccepting)
	}
	b = appendInt(b, `,"bytes":{"sent":`, r.Bytes.Sent)
	b = appendInt(b, `,"body":`, r.Bytes.Body)
	b = appendInt(b, `,"reads":`, r.Bytes.Reads)
	b = append(b, '}')
	if r.HTTP != (HTTP{}) {
		b = append(b, `,"http":{`...)
		from := len(b)
		if r.HTTP.Status != 0 {
			b = appendInt(b, `,"status":`, int64(r.HTTP.Status))
		}
		b = appendTextIf(b, `,"proto":`, r.HTTP.Proto)
		b = append(dropComma(b, from), '}')
	}

	b = appendOpt(b, `,"retry_after_ns":`, r.RetryAfter)

	if len(r.Engine) > 0 { // rare: the order and form of encoding/json will do
		if figures, err := json.Marshal(r.Engine); err == nil { // NaN and the infinities are no figures
			b = append(append(b, `,"engine":`...), figures...)
		}
	}

	if r.Model.OK {
		b = appendText(b, `,"model":`, r.Model.V)
	}
	b = appendTextIf(b, `,"finish":`, r.Finish)
	b = appendText(b, `,"outcome":`, string(r.Outcome))
	b = appendTextIf(b, `,"cause":`, r.Cause)
	b = appendTextIf(b, `,"message":`, r.Message)
	if len(r.Flags) > 0 {
		b = append(b, `,"flags":[`...)
		for i, f := range r.Flags {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendString(b, f)
		}
		b = append(b, ']')
	}
	b = appendInt(b, `,"attempts":`, int64(r.Attempts))
	if len(r.AttemptLog) > 0 {
		b = append(b, `,"attempt_log":[`...)
		for i := range r.AttemptLog {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAttempt(b, &r.AttemptLog[i])
		}
		b = append(b, ']')
	}
	if o := r.Output; o != nil {
		b = append(b, `,"output":{`...)
		from := len(b)
		b = appendTextIf(b, `,"sha256":`, o.SHA256)
		b = appendTextIf(b, `,"text":`, o.Text)
		b = appendTextIf(b, `,"reasoning":`, o.Reasoning)
		b = appendTextIf(b, `,"tools":`, o.Tools)
		b = append(dropComma(b, from), '}')
	}
	if r.Src != nil {
		b = appendSrc(b, r.Src)
	}
	return append(b, '}')
}

// appendSrc writes the shortest digits that read back as the same numbers. NaN and
// the infinities are no times: with one among them there is no src.
func appendSrc(b []byte, s *Src) []byte {
	before := len(b)
	b = append(b, `,"src":{"t":`...)
	if s.T == nil {
		return append(b, "null}"...)
	}
	b = append(b, '[')
	for i, v := range s.T {
		if v-v != 0 {
			return b[:before]
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSeconds(b, v)
	}
	return append(b, "]}"...)
}

// appendSeconds writes v as encoding/json does. Most clocks count nanoseconds: up to
// 15 digits such a number is its own shortest form, and integers are written faster.
func appendSeconds(b []byte, v float64) []byte {
	if v >= 1e-6 && v < 1e6 {
		if n := int64(math.Round(v * 1e9)); float64(n)/1e9 == v {
			b = strconv.AppendInt(b, n/1e9, 10)
			frac := n % 1e9
			if frac == 0 {
				return b
			}
			from := len(b)
			b = strconv.AppendInt(b, 1e9+frac, 10) // a 1 in place of the point keeps the zeros behind it
			b[from] = '.'
			for b[len(b)-1] == '0' {
				b = b[:len(b)-1]
			}
			return b
		}
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, 64)
	if n := len(b); format == 'e' && b[n-4] == 'e' && b[n-2] == '0' { // e-09 is e-9 there
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

func appendAttempt(b []byte, a *Attempt) []byte {
	b = append(b, '{')
	from := len(b)
	b = appendOpt(b, `,"t_released":`, a.TReleased)
	b = appendOpt(b, `,"t_end":`, a.TEnd)
	if a.Status != 0 {
		b = appendInt(b, `,"status":`, int64(a.Status))
	}
	b = appendText(b, `,"outcome":`, string(a.Outcome))
	b = appendTextIf(b, `,"cause":`, a.Cause)
	b = appendTextIf(b, `,"message":`, a.Message)
	b = appendOpt(b, `,"retry_after_ns":`, a.RetryAfter)
	b = appendInt(b, `,"wait_ns":`, a.Wait)
	return append(dropComma(b, from), '}')
}

func appendEvents(b []byte, e *Events) []byte {
	b = append(b, `{"dt":`...)
	b = appendInts(b, e.DT)
	b = appendTextIf(b, `,"kind":`, e.Kind)
	if len(e.Tok) > 0 {
		b = append(b, `,"tok":`...)
		b = appendInts(b, e.Tok)
	}
	if len(e.Choice) > 0 {
		b = append(b, `,"choice":`...)
		b = appendInts(b, e.Choice)
	}
	return append(b, '}')
}

func appendInts[T int32 | int64](b []byte, v []T) []byte {
	b = append(b, '[')
	for i, n := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func appendInt(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

func appendOpt(b []byte, key string, o Opt[int64]) []byte {
	if !o.OK {
		return b
	}
	return appendInt(b, key, o.V)
}

func appendText(b []byte, key, s string) []byte { return AppendString(append(b, key...), s) }

func appendTextIf(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, key, s)
}

// dropComma takes away the comma that the first field of an object brought.
func dropComma(b []byte, from int) []byte {
	if len(b) == from {
		return b
	}
	return append(b[:from], b[from+1:]...)
}

// AppendString appends s as a JSON string of valid UTF-8 without line breaks of
// any kind: control characters and U+2028/U+2029 are escaped. Valid UTF-8 comes out
// byte for byte as from encoding/json without escapes for HTML; each bad byte becomes
// U+FFFD.
func AppendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if len(s)-i >= 8 {
			n := Plain8(uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
				uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56)
			if i += n; n == 8 {
				continue
			}
		}
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && size == 1
		if !bad && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		b = append(b, s[start:i]...)
		switch {
		case bad:
			b = append(b, "\ufffd"...)
		case r == '\u2028':
			b = append(b, `\u2028`...)
		default:
			b = append(b, `\u2029`...)
		}
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// Each byte of a word, for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// Plain8 is how many of the eight bytes of x, from the lowest on, neither end a
// JSON string nor begin an escape, are no control characters and are ASCII. (The
// borrows of the subtractions only touch bytes above the first such one.)
func Plain8(x uint64) int {
	special := (x | (x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
	return bits.TrailingZeros64(special) / 8
}
