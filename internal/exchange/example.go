package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tokentape/internal/client"
	"tokentape/internal/dialect/frame"
	"tokentape/internal/secret"
	"tokentape/tape"
)

// Bounds of an example, in bytes but for the first two.
const (
	maxExamples = 32
	maxFields   = 40
	maxField    = 200
	sampled     = 512     // of head, tail, and each end of an event
	recent      = 1024    // of the last bytes kept: twice as much, so that a secret is masked before it is cut
	recentRoom  = 2 << 10 // the last bytes are moved to the front of the buffer beyond this
	maxEvent    = 64 << 10
)

// classes are the failure classes that have an example.
type classes struct {
	mu   sync.Mutex
	seen map[tape.Class]bool
}

// first reports whether c is new, and an example of it is to be kept.
func (s *classes) first(c tape.Class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[c] || len(s.seen) >= maxExamples {
		return false
	}
	if s.seen == nil {
		s.seen = map[tape.Class]bool{}
	}
	s.seen[c] = true
	return true
}

// fault is the first event that could not be read, or that is an error.
type fault struct {
	payload []byte
	at, no  int64
	is      bool
}

// blame keeps ev, unless an earlier event was at fault.
func (x *flight) blame(ev frame.Event) {
	if x.fault.is {
		return
	}
	at := x.bytes
	if ev.At >= 0 {
		at += int64(ev.At+1) - int64(x.fed)
	}
	x.fault = fault{slices.Clone(ev.Payload[:min(len(ev.Payload), maxEvent)]), at, int64(x.log.n), true}
}

// keepRecent makes room for the next read, and keeps the last bytes of the body in
// front of it. Small reads fill the buffer's beginning one behind the other, so
// that little is copied, and little of the buffer is touched.
func (x *flight) keepRecent() {
	if x.at > recentRoom {
		x.at = copy(x.buf, x.buf[x.at-recent:x.at])
	}
}

// example is that of the attempt that req holds, nil when its class has one. resp
// is nil when none came.
func (x *flight) example(req *tape.Request, resp *client.Response) *tape.Example {
	e := x.e
	if !e.seen.first(tape.ClassOf(req.Outcome, req.Cause, req.HTTP.Status)) {
		return nil
	}
	ex := &tape.Example{
		Type: "example", Seq: req.Seq, Phase: req.Phase, Attempt: len(req.AttemptLog) + 1, T: req.TEnd.V,
		Outcome: req.Outcome, Cause: req.Cause, Message: req.Message,
		Method: http.MethodPost, URL: e.mask(x.url), Request: e.fields(e.shown(e.headerFor(req.ID, req.Session.V))), Sent: req.Bytes.Sent,
		Status: req.HTTP.Status, Proto: req.HTTP.Proto, Body: x.bytes, Events: int64(x.log.n),
	}
	if resp == nil {
		return ex
	}
	h := http.Header{}
	for name, values := range resp.Header {
		if h[name] = values; secret.Name(name) {
			h[name] = []string{secret.Mask}
		}
	}
	ex.Response = e.fields(h)
	if resp.Status/100 == 2 && e.cfg.Output == OutputNone {
		return ex
	}
	s := sampler{e: e, request: x.request, answer: resp.Status/100 == 2}
	ex.Head, _ = s.begin(x.head)
	if x.bytes > int64(min(len(x.head), sampled)) && x.at > 0 {
		from := max(0, x.at-recent)
		text, n := s.end(x.buf[from:x.at])
		ex.Tail, ex.TailAt = text, tape.Some(x.bytes-int64(n))
	}
	if f := x.fault; f.is {
		ex.Event, ex.EventAt, ex.EventNo = s.both(f.payload), tape.Some(f.at), tape.Some(f.no)
	}
	return ex
}

// shown is a request's header for people: values that may be secret are masked.
func (e *Exchanger) shown(h http.Header) http.Header {
	h = h.Clone()
	for name, values := range h {
		_, given := e.cfg.Header[name]
		for i, v := range values {
			if values[i] = e.mask(v); given && values[i] == v {
				values[i] = secret.Mark(name, v)
			}
		}
	}
	return h
}

// fields are the lines of a header in order of their names, bounded.
func (e *Exchanger) fields(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			if len(lines) == maxFields {
				return append(lines, "…")
			}
			lines = append(lines, e.secrets.Line(name+": "+v, maxField))
		}
	}
	return lines
}

// sampler makes bytes of a body fit for the tape.
type sampler struct {
	e       *Exchanger
	request []byte
	answer  bool // the body may hold generated text
}

// generated is a field of generated text in the APIs that are known. Its text is
// left out: a tape has it only where record.output asks, and a secret that comes
// in pieces, one an event, cannot be masked.
var generated = regexp.MustCompile(`"(content|text|reasoning|reasoning_content|thinking|partial_json|arguments|response|delta|` +
	`generated_text|text_output|output_text|refusal|completion)"(\s*:\s*)"((?:[^"\\]|\\.)+)`)

// hush takes the generated text out of a piece of an answer.
func hush(s string) string {
	return generated.ReplaceAllStringFunc(s, func(m string) string {
		g := generated.FindStringSubmatch(m)
		return fmt.Sprintf(`"%s"%s"[%d bytes of output]`, g[1], g[2], len(g[3]))
	})
}

// begin is the beginning of b, and of how many bytes.
func (s sampler) begin(b []byte) (text string, n int) {
	n = min(len(b), sampled)
	if s.clean(b) { // the cut is where the reader expects it
		return s.text(b[:n]), n
	}
	return cutText(s.text(b), sampled), n
}

// clean reports that b holds no secret, so that cutting it cuts none.
func (s sampler) clean(b []byte) bool { return s.e.secrets.Mask(string(b)) == string(b) }

// end is the end of b, and of how many bytes. Where a secret was masked it may
// begin a little elsewhere than n says.
func (s sampler) end(b []byte) (text string, n int) {
	n = min(len(b), sampled)
	if s.clean(b) {
		return s.text(b[len(b)-n:]), n
	}
	text = s.text(b)
	if len(text) > sampled {
		text = text[len(text)-sampled:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return text, n
}

// both is a payload, of a long one its beginning and its end.
func (s sampler) both(b []byte) string {
	if len(b) <= 2*sampled {
		return s.text(b)
	}
	head, n := s.begin(b)
	tail, m := s.end(b)
	return fmt.Sprintf("%s …(%d bytes)… %s", head, len(b)-n-m, tail)
}

// text masks secrets and what is of the request, and shows what is not printable.
func (s sampler) text(b []byte) string {
	text := s.e.mask(string(b))
	if s.answer {
		text = hush(text)
	}
	return unrepeated(text, s.request, printable)
}

// cutText cuts at the border of a character.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// printable writes bytes as characters, and those that are none as escapes.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			for i := range n {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			}
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// repeatLen is the shortest run of bytes that counts as repeated from the request:
// longer than the names and the punctuation that every body has.
const repeatLen = 32

// unrepeated is text without what of it stands in the request too, the rest as show
// has it. Servers quote in an error what they were sent, and prompts are never on a
// tape.
func unrepeated(text string, request []byte, show func(string) string) string {
	if !repeats(text, request) {
		return show(text)
	}
	at := map[[repeatLen]byte][]int{}
	b := []byte(text)
	for i := 0; i+repeatLen <= len(b); i++ {
		w := [repeatLen]byte(b[i:])
		at[w] = append(at[w], i)
	}
	repeated := make([]bool, len(text))
	for i := 0; i+repeatLen <= len(request); i++ {
		w := [repeatLen]byte(request[i:])
		places := at[w]
		if len(places) == 0 {
			continue
		}
		for _, from := range places {
			for k := range repeatLen {
				repeated[from+k] = true
			}
		}
		at[w] = nil // once is enough
	}
	var out strings.Builder
	for from, to := 0, 0; from < len(text); from = to {
		for to = from + 1; to < len(text) && repeated[to] == repeated[from]; {
			to++
		}
		if repeated[from] {
			fmt.Fprintf(&out, "[%d bytes of the request]", to-from)
		} else {
			out.WriteString(show(text[from:to]))
		}
	}
	return out.String()
}

// repeats reports whether text holds something of the request, at least where that
// is twice repeatLen long. It is asked of every refusal, and is quick.
func repeats(text string, request []byte) bool {
	for i := 0; i+repeatLen <= len(text); i += repeatLen {
		if bytes.Contains(request, []byte(text[i:i+repeatLen])) {
			return true
		}
	}
	return false
}
