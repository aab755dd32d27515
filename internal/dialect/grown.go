package dialect

import (
	"bytes"
	"hash/maphash"
)

// grown finds what is new in a text that is sent whole again and again. It keeps
// no text: a length and a hash tell whether what came before is still its
// beginning.
type grown struct {
	n    int
	sum  uint64
	mode streamMode
}

type streamMode byte

const (
	modeUnknown    streamMode = iota
	modeCumulative            // each text holds all that came before
	modeDelta                 // each text is new
)

// surely is how many bytes of text are not repeated by chance.
const surely = 16

var grownSeed = maphash.MakeSeed()

// next is what text adds. In modeUnknown the first text that does not begin with
// what came before settles that texts are new each time; a shorter one that
// ends the response is what a stop string was cut from.
func (g *grown) next(text []byte, last bool) []byte {
	if g.mode == modeDelta || len(text) == 0 {
		return text
	}
	was := g.n
	if was > 0 && (len(text) < was || maphash.Bytes(grownSeed, text[:was]) != g.sum) {
		switch {
		case g.mode == modeCumulative || last && len(text) < was:
			// Rewritten: all that can be said is how much longer it is.
			was = min(was, len(text))
		default:
			g.mode = modeDelta
			return text
		}
	}
	if g.mode == modeUnknown && was >= surely {
		g.mode = modeCumulative
	}
	if len(text) >= g.n {
		g.n, g.sum = len(text), maphash.Bytes(grownSeed, text)
	}
	return text[was:]
}

// echo takes the prompt off the front of the first text.
type echo struct {
	prompt string
	done   bool
}

func (e *echo) cut(text []byte) []byte {
	if e.done || len(text) == 0 {
		return text
	}
	e.done = true
	if e.prompt == "" {
		return text
	}
	return bytes.TrimPrefix(text, []byte(e.prompt))
}
