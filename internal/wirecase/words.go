package wirecase

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The abbreviations of payloads, with %s for what stands in brackets.
const (
	wordRole  = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	wordC     = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}`
	wordD     = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`
	wordFin   = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`
	wordU     = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`
	wordT     = `{"id":"t1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"%s","finish_reason":null}]}`
	wordTFin  = `{"id":"t1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"","finish_reason":"%s"}]}`
	wordDone  = "data: [DONE]\n\n"
	wordIndex = `"index":0`
)

// texts are the calls whose argument is plain text, put in as it stands.
var texts = map[string]string{"C": wordC, "FIN": wordFin, "T": wordT, "TFIN": wordTFin}

// calls are the others, each with how it is written.
var calls = map[string]string{
	"D": "D(JSON)", "U": "U(PROMPT,COMPLETION)", "e": "e(PAYLOAD)", "with": "with(PAYLOAD, {FIELDS})", "idx": "idx(CHOICE, PAYLOAD)",
	"repeat": "repeat(N, BYTES)", "part": "part(FROM, TO, BYTES)", "raw": "raw(BYTES)", "HANG": "HANG(MS)", "END": "END(TRAILER)",
}

// ends are the words that end an answer.
var ends = map[string]End{"END": EndClean, "CUT": EndCut, "RST": EndReset, "HANG": EndHang}

// named reads a name or a call.
func (x *lexer) named() []element {
	line, from := x.line(), x.pos
	name := x.name()
	open := x.peek() == '('
	if end, ok := ends[name]; ok {
		el := element{line: line, kind: elemEnd, step: Step{End: end, Count: 1}}
		if open {
			x.pos++
			arg := string(x.rawArg())
			switch {
			case end == EndHang:
				d, err := parseMS(arg)
				if err != nil || d == 0 {
					x.pos = from
					x.fail("HANG(%s): how many milliseconds until the connection is closed?", arg)
				}
				el.step.For = d
			case end == EndClean:
				el.step.Trailer = []string{arg}
			default:
				x.pos = from
				x.fail("%s takes no argument", name)
			}
		}
		return []element{el}
	}
	one := func(b []byte) []element { return []element{{line: line, kind: elemData, data: b}} }
	if !open {
		switch name {
		case "ROLE":
			return one(x.p.spend(line, []byte(wordRole)))
		case "DONE":
			return one(x.p.spend(line, []byte(wordDone)))
		}
		if els, ok := x.p.lets[name]; ok {
			for _, el := range els {
				x.p.afford(line, len(el.data)+1)
			}
			return els
		}
	} else {
		x.pos++
		if form, ok := texts[name]; ok {
			arg := x.rawArg()
			return one(x.p.spend(line, []byte(strings.Replace(form, "%s", string(arg), 1))))
		}
		if _, ok := calls[name]; ok {
			return x.call(name, line)
		}
	}
	x.pos = from
	known := slices.Sorted(maps.Keys(x.p.lets))
	if open {
		x.fail("no call %s(…); calls are C(TEXT), FIN(REASON), T(TEXT), TFIN(REASON), %s", name, strings.Join(slices.Sorted(maps.Values(calls)), ", "))
	}
	x.fail("no word %s; words are ROLE, DONE, END, CUT, RST, HANG%s", name, strings.Join(append([]string{""}, known...), ", "))
	return nil
}

// call reads the arguments of a call whose bracket has been opened.
func (x *lexer) call(name string, line int) []element {
	el := element{line: line, kind: elemData}
	take := func(b []byte) { el.data = x.p.spend(line, b) }
	num := func() int {
		x.space()
		return x.number()
	}
	switch name {
	case "D":
		take([]byte(strings.Replace(wordD, "%s", string(x.bytes()), 1)))
	case "U":
		in := num()
		x.expect(',')
		out := num()
		take(fmt.Appendf(nil, wordU, in, out, in+out))
	case "e":
		take(slices.Concat([]byte("data: "), x.bytes(), []byte("\n\n")))
	case "with":
		object := x.bytes()
		x.expect(',')
		fields := bytes.TrimSpace(x.bytes())
		if !bytes.HasSuffix(object, []byte("}")) || len(fields) < 2 || fields[0] != '{' || fields[len(fields)-1] != '}' {
			x.fail("%s: both must be JSON objects", calls[name])
		}
		take(slices.Concat(object[:len(object)-1], []byte(","), fields[1:]))
	case "idx":
		n := num()
		x.expect(',')
		payload := x.bytes()
		if !bytes.Contains(payload, []byte(wordIndex)) {
			x.fail(`%s: the payload has no "index":0 to replace`, calls[name])
		}
		take(bytes.Replace(payload, []byte(wordIndex), []byte(`"index":`+strconv.Itoa(n)), 1))
	case "repeat":
		n := num()
		x.expect(',')
		unit := x.bytes()
		x.p.afford(line, n*len(unit))
		el.data = bytes.Repeat(unit, n)
	case "part":
		from := num()
		x.expect(',')
		to := num()
		x.expect(',')
		whole := x.bytes()
		if from > to || to > len(whole) {
			x.fail("%s: there are only %d bytes", calls[name], len(whole))
		}
		el.data = whole[from:to]
	case "raw":
		el.data, el.raw = x.bytes(), true
	}
	x.expect(')')
	return []element{el}
}
