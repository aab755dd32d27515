package tokenizer

import "unicode/utf8"

// scanner is a split pattern written by hand: the regular expressions of current
// models cost most of the time of an encoding. Each is held against its pattern
// by the tests.
type scanner struct {
	// match is the length of the match at the start of s, which is not empty; 0:
	// none starts here.
	match func(t []class, s string) int
	// covers: a match starts wherever the one before ended.
	covers bool
	// ready is a whole splitter, where more than one pattern is taken together.
	ready func(t []class) splitter
}

func (sc *scanner) splitter() splitter {
	t := classes()
	if sc.ready != nil {
		return sc.ready(t)
	}
	return func(s string, out []span) []span { return scanAll(t, sc.match, s, 0, out) }
}

// scanAll splits s, which starts at base; text without a match is a piece too.
func scanAll(t []class, match func([]class, string) int, s string, base int, out []span) []span {
	gap := -1
	for i := 0; i < len(s); {
		n := match(t, s[i:])
		if n == 0 {
			if gap < 0 {
				gap = i
			}
			_, n = utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		if gap >= 0 {
			out = append(out, span{base + gap, base + i})
			gap = -1
		}
		out = append(out, span{base + i, base + i + n})
		i += n
	}
	if gap >= 0 {
		out = append(out, span{base + gap, base + len(s)})
	}
	return out
}

const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	patternGPT2  = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternCL100 = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	patternQwen  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	patternQwenM = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + spaces
	patternO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contractions + `?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contractions + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces
	patternDeepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

var scanners = map[string]*scanner{
	patternGPT2:     {match: gpt2, covers: true},
	patternCL100:    {match: gpt4(mLetter, 3), covers: true},
	patternQwen:     {match: gpt4(mLetter, 1), covers: true},
	patternQwenM:    {match: gpt4(mLetter|mMark, 1), covers: true},
	patternO200K:    {match: o200k, covers: true},
	patternDeepSeek: {match: deepSeek},
}

// deepSeekSteps are the three Split steps of the deepseek tokenizers, taken in
// one pass by deepSeekAll.
var deepSeekSteps = [3]string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, patternDeepSeek}

func classAt(t []class, s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return t[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return t[r], n
}

// run is the end of the longest run of m from i on.
func run(t []class, m mask, s string, i int) int {
	for i < len(s) {
		c, n := classAt(t, s, i)
		if !m.has(c) {
			break
		}
		i += n
	}
	return i
}

// contraction is the length of 's 't 're 've 'm 'll 'd at the start of s, in any
// case with fold; 0: none.
func contraction(s string, fold bool) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	low := func(c byte) byte {
		if fold && c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}
	second := byte(0)
	switch low(s[1]) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	case 0xC5: // ſ folds to s
		if fold && len(s) > 2 && s[2] == 0xBF {
			return 3
		}
	}
	if second != 0 && len(s) > 2 && low(s[2]) == second {
		return 3
	}
	return 0
}

// blanks is \s*[\r\n]+|\s+(?!\S)|\s+ at a blank; without lines the first of the
// three is left out.
func blanks(t []class, s string, lines bool) int {
	i, last, line := 0, 0, 0
	for i < len(s) {
		c, n := classAt(t, s, i)
		if !mSpace.has(c) {
			break
		}
		last = i
		i += n
		if c == cNewline {
			line = i
		}
	}
	switch {
	case lines && line > 0:
		return line
	case i < len(s) && last > 0:
		return last
	}
	return i
}

func gpt2(t []class, s string) int {
	if n := contraction(s, false); n > 0 {
		return n
	}
	i := 0
	if s[0] == ' ' && len(s) > 1 {
		i = 1
	}
	c, n := classAt(t, s, i)
	switch {
	case mLetter.has(c):
		return run(t, mLetter, s, i+n)
	case c == cNumber:
		return run(t, mNumber, s, i+n)
	case !mSpace.has(c):
		return run(t, ^(mLetter | mNumber | mSpace), s, i+n)
	}
	return blanks(t, s, false)
}

// gpt4 is the family of cl100k, Llama 3 and Qwen: word characters, and the
// longest run of digits.
func gpt4(word mask, digits int) func(t []class, s string) int {
	punct := ^(word | mNumber | mSpace)
	return func(t []class, s string) int {
		if n := contraction(s, true); n > 0 {
			return n
		}
		c, n := classAt(t, s, 0)
		switch {
		case word.has(c):
			return run(t, word, s, n)
		case c == cNumber:
			for k := 1; k < digits && n < len(s); k++ {
				c, m := classAt(t, s, n)
				if c != cNumber {
					break
				}
				n += m
			}
			return n
		case c != cNewline && n < len(s):
			if c2, n2 := classAt(t, s, n); word.has(c2) {
				return run(t, word, s, n+n2)
			}
		}
		if e := punctuation(t, punct, s, ""); e > 0 {
			return e
		}
		return blanks(t, s, true)
	}
}

// punctuation is " ?[punct]+[\r\n more]*".
func punctuation(t []class, punct mask, s, more string) int {
	i := 0
	if s[0] == ' ' {
		i = 1
	}
	e := run(t, punct, s, i)
	if e == i {
		return 0
	}
	for e < len(s) && (s[e] == '\r' || s[e] == '\n' || more != "" && s[e] == more[0]) {
		e++
	}
	return e
}

// o200k tells capitals from small letters: a word starts at a capital.
func o200k(t []class, s string) int {
	const (
		head = 1<<cUpper | 1<<cLetter | 1<<cMark
		tail = 1<<cLower | 1<<cLetter | 1<<cMark
	)
	c, n := classAt(t, s, 0)
	e := 0
	switch {
	case mLetter.has(c):
		e, _ = cased(t, head, tail, s, 0)
	case c != cNumber && c != cNewline:
		// The optional first character is taken if a word follows it. If no tail
		// follows (capitals alone), a mark is a word by itself before that.
		var small bool
		e, small = cased(t, head, tail, s, n)
		if !small && c == cMark {
			e = n
		}
	case c == cNumber:
		for k := 1; k < 3 && n < len(s); k++ {
			c, m := classAt(t, s, n)
			if c != cNumber {
				break
			}
			n += m
		}
		return n
	}
	if e > 0 {
		return e + contraction(s[e:], true)
	}
	if e := punctuation(t, ^(mLetter | mNumber | mSpace), s, "/"); e > 0 {
		return e
	}
	return blanks(t, s, true)
}

// cased is head*tail+ from i on, or else head+: the end (0: neither matches), and
// whether it was the former. head* gives back characters until tail+ matches.
func cased(t []class, head, tail mask, s string, i int) (end int, small bool) {
	back := 0 // end of the last character of the run of heads that is a tail too
	start := i
	for i < len(s) {
		c, n := classAt(t, s, i)
		if !head.has(c) {
			if tail.has(c) {
				return run(t, tail, s, i+n), true
			}
			break
		}
		i += n
		if tail.has(c) {
			back = i
		}
	}
	if back > 0 {
		return back, true
	}
	if i == start {
		return 0, false
	}
	return i, false
}

func deepSeek(t []class, s string) int {
	const word = mLetter | mMark
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	c, n := classAt(t, s, 0)
	if s[0] < utf8.RuneSelf && mPunct.has(c) {
		if i := 1; i < len(s) && letter(s[i]) {
			for i < len(s) && letter(s[i]) {
				i++
			}
			return i
		}
	}
	switch {
	case word.has(c):
		return run(t, word, s, n)
	case c != cNewline && !mPunct.has(c) && n < len(s):
		if c2, n2 := classAt(t, s, n); word.has(c2) {
			return run(t, word, s, n+n2)
		}
	}
	if e := punctuation(t, mPunct, s, ""); e > 0 {
		return e
	}
	if mSpace.has(c) {
		return blanks(t, s, true)
	}
	return 0
}

func kana(r rune) bool { return r >= 0x4E00 && r <= 0x9FA5 || r >= 0x3040 && r <= 0x30FF }

// deepSeekAll takes the three steps in one pass: numbers by three, runs of
// Chinese and Japanese, and what lies between, each split by itself.
func deepSeekAll(t []class) splitter {
	return func(s string, out []span) []span {
		kind := func(i int) (k, n int) {
			if s[i] < utf8.RuneSelf {
				if t[s[i]] == cNumber {
					return 1, 1
				}
				return 0, 1
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case kana(r):
				return 2, n
			case t[r] == cNumber:
				return 1, n
			}
			return 0, n
		}
		for i := 0; i < len(s); {
			k, n := kind(i)
			e := i + n
			for count := 1; e < len(s) && (k != 1 || count < 3); count++ {
				k2, n := kind(e)
				if k2 != k {
					break
				}
				e += n
			}
			if k == 1 {
				out = append(out, span{i, e})
			} else {
				out = scanAll(t, deepSeek, s[i:e], i, out)
			}
			i = e
		}
		return out
	}
}
