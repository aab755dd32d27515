package wirecase

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var optionForm = regexp.MustCompile(`^[a-z-]+( |$)`)

// answer reads an answer block: settings of the head, and a timeline.
func (p *parser) answer(b *block) *Answer {
	a := &Answer{Line: b.line, Times: p.times(b)}
	proto, status := "HTTP/1.1", "200 OK"
	header := []string{"Content-Type: text/event-stream"}
	none, raw := false, []byte(nil)
	length := ""
	ends := "\n"
	var timeline source
	for line, text := range b.body.each() {
		if !optionForm.MatchString(text) {
			timeline.add(line, text)
			continue
		}
		word, arg, _ := strings.Cut(text, " ")
		arg = strings.TrimSpace(arg)
		switch word {
		case "http":
			if arg != "1.0" && arg != "1.1" {
				p.fail(line, "http is 1.0 or 1.1")
			}
			if proto = "HTTP/" + arg; arg == "1.0" && a.Framing == FramingChunked {
				a.Framing = FramingClose
			}
		case "status":
			if status = arg; arg == "" {
				p.fail(line, "status wants a code, and words when they are not the usual ones")
			}
		case "header":
			name, _, ok := strings.Cut(arg, ":")
			if !ok || name == "" {
				p.fail(line, "header wants Name: value")
			}
			header = append(without(header, name), arg)
		case "no-header":
			header = without(header, arg)
		case "head":
			switch {
			case arg == "none":
				none = true
			case strings.HasPrefix(arg, `"`):
				raw = []byte(p.text(line, arg))
				switch lower := bytes.ToLower(raw); {
				case bytes.Contains(lower, []byte("transfer-encoding: chunked")):
					a.Framing = FramingChunked
				case bytes.Contains(lower, []byte("\ncontent-length:")):
					a.Framing = FramingLength
				default:
					a.Framing = FramingClose
				}
			default:
				p.fail(line, `head is none, or the bytes of the whole head as "…"`)
			}
		case "length":
			if _, err := strconv.ParseUint(arg, 10, 62); err != nil && arg != "auto" {
				p.fail(line, "length is auto or a number of bytes")
			}
			length, a.Framing = arg, FramingLength
		case "until-close":
			a.Framing = FramingClose
		case "lines":
			switch arg {
			case "lf":
				ends = "\n"
			case "crlf":
				ends = "\r\n"
			case "cr":
				ends = "\r"
			default:
				p.fail(line, "lines is lf, crlf or cr")
			}
		case "gzip":
			a.Gzip.On = true
			for word := range strings.FieldsSeq(arg) {
				switch word {
				case "each":
				case "end":
					a.Gzip.End = true
				case "if-asked":
					a.Gzip.Asked = true
				default:
					p.fail(line, "gzip is each or end, and if-asked")
				}
			}
		case "refuse":
			a.Refuse = true
		default:
			p.fail(line, "no setting %q of an answer; settings are http, status, header, no-header, head, length, until-close, lines, gzip, refuse", word)
		}
	}
	if a.Refuse {
		if len(timeline.lines) > 0 {
			p.fail(timeline.lines[0], "a connection that is refused has no timeline")
		}
		return a
	}
	if len(timeline.lines) == 0 {
		p.fail(b.line, "an answer without a timeline, such as: @100 e(C(Hi)) @150 e(FIN(stop)) DONE END")
	}
	a.Steps = p.steps(p.lexer(timeline).elements())
	total := 0
	for i := range a.Steps {
		if s := &a.Steps[i]; len(s.Data) > 0 {
			if ends != "\n" {
				s.Data = p.spend(a.Line, bytes.ReplaceAll(s.Data, []byte("\n"), []byte(ends)))
			}
			if s.Raw {
				continue
			}
			if total += len(s.Data) * s.Count; total > maxBytes {
				p.fail(a.Line, "the timeline writes more than %d bytes", maxBytes)
			}
		}
	}
	switch {
	case none:
		a.Framing = FramingClose
	case raw != nil:
		a.Head = raw
	default:
		switch {
		case a.Framing == FramingChunked:
			header = append(without(header, "Transfer-Encoding"), "Transfer-Encoding: chunked")
		case length == "auto":
			header = append(header, "Content-Length: "+strconv.Itoa(total))
		case length != "":
			header = append(header, "Content-Length: "+length)
		}
		a.Head = []byte(statusLine(proto, status) + "\r\n" + strings.Join(header, "\r\n") + "\r\n\r\n")
	}
	for _, s := range a.Steps {
		if len(s.Trailer) > 0 && a.Framing != FramingChunked {
			p.fail(a.Line, "only a chunked body can have a trailer")
		}
	}
	return a
}

// without leaves out the lines of that header.
func without(header []string, name string) []string {
	return slices.DeleteFunc(header, func(h string) bool {
		have, _, _ := strings.Cut(h, ":")
		return strings.EqualFold(have, name)
	})
}

// steps makes writes of the words.
func (p *parser) steps(els []element) []Step {
	var out []Step
	var clock Step // the last time read
	last := time.Duration(0)
	timed, used := false, true
	own := false // the last write's bytes are no word's
	for _, el := range els {
		if n := len(out); n > 0 && out[n-1].End != EndNone {
			p.fail(el.line, "something stands behind the end of the answer")
		}
		switch el.kind {
		case elemTime:
			if !used {
				p.fail(el.line, "a time at which nothing happens")
			}
			if clock = el.step; el.rel {
				clock.At += last
			}
			if clock.At < last {
				p.fail(el.line, "%s is before the write that stands before it", fmtMS(clock.At))
			}
			last, timed, used = clock.At, true, false
		case elemData:
			if !timed {
				p.fail(el.line, "bytes before the first @time")
			}
			if n := len(out); used && n > 0 { // more bytes of the same write
				if out[n-1].Raw != el.raw {
					p.fail(el.line, "raw(…) wants a write of its own")
				}
				if !own {
					out[n-1].Data, own = bytes.Clone(out[n-1].Data), true
				}
				out[n-1].Data = append(out[n-1].Data, p.spend(el.line, el.data)...)
				continue
			}
			s := clock
			s.Data, s.Raw = el.data, el.raw
			out, used, own = append(out, s), true, false
		case elemEnd:
			if !timed {
				p.fail(el.line, "an end before the first @time")
			}
			s := el.step
			if s.At = last; used { // no time of its own
				s.At = lastWrite(out, last)
			}
			out, used = append(out, s), true
		}
	}
	if n := len(out); n == 0 || out[n-1].End == EndNone {
		p.fail(els[len(els)-1].line, "the timeline must end in END, CUT, RST or HANG")
	}
	for i := range out[:len(out)-1] {
		if end := lastWrite(out[:i+1], 0); end > out[i+1].At || end > maxTime {
			p.fail(els[0].line, "writes that begin at %s end at %s, behind the next one", fmtMS(out[i].At), fmtMS(end))
		}
	}
	return out
}

// lastWrite is when the last write of the last step takes place, at least from.
func lastWrite(steps []Step, from time.Duration) time.Duration {
	if len(steps) == 0 {
		return from
	}
	s := steps[len(steps)-1]
	n := s.Count
	if s.Drip {
		n = len(s.Data)
	}
	if s.Every > 0 && n > 1 && int64(n-1) > int64(2*maxTime)/int64(s.Every) {
		return 2 * maxTime
	}
	return max(from, s.At+time.Duration(max(n-1, 0))*s.Every)
}

func fmtMS(d time.Duration) string {
	return fmt.Sprintf("@%s", strconv.FormatFloat(float64(d)/1e6, 'f', -1, 64))
}
