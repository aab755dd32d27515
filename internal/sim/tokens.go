package sim

import (
	"unicode"
	"unicode/utf8"
)

// Counter is the simulated tokenizer. It counts tokens and hashes them page by
// page without keeping them. Its rules, in order:
//
//   - a run of letters and digits (of any alphabet written with spaces) is cut
//     after every fourth rune: one token a piece;
//   - a Han, kana, Hangul or Thai rune is one token;
//   - one space before any of these belongs to the token that follows it;
//   - any other run of white space is one token;
//   - any other rune, and any byte that is not UTF-8, is one token.
//
// So "The cat sat." has 4 tokens, "measurement" 3, "你好，世界" 5. Text given in
// two calls is two texts: no token spans them.
type Counter struct {
	p     Prompt
	size  int
	chain uint64 // hash of everything so far
	fill  int    // tokens in the page that is not full yet
}

// Prompt is what the engine needs to know of a prompt.
type Prompt struct {
	Tokens int64
	Pages  []uint64 // chained hash at the end of every full page: equal hashes mean equal prefixes
	Hash   uint64   // of all tokens

	size, fill int // of the last page, which is not full: output tokens continue there
}

// NewCounter counts with pages of pageSize tokens (≥ 1).
func NewCounter(pageSize int) *Counter { return &Counter{size: pageSize, chain: 1} }

// Token adds one token by its id.
func (c *Counter) Token(id uint64) {
	c.chain = mix(c.chain ^ id)
	c.p.Tokens++
	if c.fill++; c.fill == c.size {
		c.fill = 0
		c.p.Pages = append(c.p.Pages, c.chain)
	}
}

// Ids of the chat template's tokens; text tokens are hashes with the top bit set.
const (
	idStart = iota + 1
	idEnd
	idNewline
)

// MessageOverhead and ReplyOverhead are the template's tokens around a message's
// content, and at the end of a chat prompt where the answer begins.
const (
	MessageOverhead = 4
	ReplyOverhead   = 3
)

// Message adds one chat message: start, role, newline, the content, end.
func (c *Counter) Message(role, content string) {
	c.header(role)
	c.Text(content)
	c.Token(idEnd)
}

// Reply adds the opening of the assistant's answer: start, role, newline.
func (c *Counter) Reply() { c.header("assistant") }

func (c *Counter) header(role string) {
	c.Token(idStart)
	c.Token(textID(role))
	c.Token(idNewline)
}

// Text adds the tokens of s.
func (c *Counter) Text(s string) {
	for len(s) > 0 {
		n := next(s)
		c.Token(textID(s[:n]))
		s = s[n:]
	}
}

// Prompt is what was counted so far.
func (c *Counter) Prompt() Prompt {
	p := c.p
	p.Hash = c.chain
	p.size, p.fill = c.size, c.fill
	return p
}

// CountTokens is the number of tokens of s.
func CountTokens(s string) (n int64) {
	for len(s) > 0 {
		s = s[next(s):]
		n++
	}
	return n
}

const (
	kindWord = iota // letters that join
	kindRune        // one token a rune
	kindSpace
	kindOther
)

func kindOf(r rune, size int) int {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return kindWord
		case r == ' ', r >= '\t' && r <= '\r':
			return kindSpace
		}
		return kindOther
	case r == utf8.RuneError && size <= 1:
		return kindOther
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return kindRune
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
		return kindWord
	case unicode.IsSpace(r):
		return kindSpace
	}
	return kindOther
}

// next is the length in bytes of the first token of s, which is not empty.
func next(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	k := kindOf(r, n)
	if k == kindSpace {
		if r == ' ' && n < len(s) {
			r2, n2 := utf8.DecodeRuneInString(s[n:])
			switch kindOf(r2, n2) {
			case kindWord:
				return n + word(s[n:])
			case kindRune:
				return n + n2
			}
		}
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if kindOf(r, size) != kindSpace {
				break
			}
			n += size
		}
		return n
	}
	if k == kindWord {
		return word(s)
	}
	return n
}

func word(s string) (n int) {
	for i := 0; i < 4 && n < len(s); i++ {
		r, size := utf8.DecodeRuneInString(s[n:])
		if kindOf(r, size) != kindWord {
			break
		}
		n += size
	}
	return n
}

// textID is FNV-1a with the top bit set.
func textID(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h | 1<<63
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
