package tokenizer

import (
	"encoding/base64"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// readNormalizer is nil for none.
func readNormalizer(n node) rewriter {
	if !n.has() {
		return nil
	}
	switch kind := n.get("type").text(); kind {
	case "Sequence":
		var rs []rewriter
		for _, c := range n.get("normalizers").list() {
			if r := readNormalizer(c); r != nil {
				rs = append(rs, r)
			}
		}
		return chain(rs)
	case "NFC":
		return unicodeForm(norm.NFC)
	case "NFD":
		return unicodeForm(norm.NFD)
	case "NFKC":
		return unicodeForm(norm.NFKC)
	case "NFKD":
		return unicodeForm(norm.NFKD)
	case "Lowercase":
		return lowercase
	case "StripAccents":
		return stripAccents
	case "Nmt":
		return nmt
	case "ByteLevel":
		return mapBytes
	case "Strip":
		return strip(n.get("strip_left").boolOr(true), n.get("strip_right").boolOr(true))
	case "Prepend":
		return prepend(n.get("prepend").text())
	case "Replace":
		return replace(readPattern(n.get("pattern")), n.get("content").text())
	case "Precompiled":
		return readCharsmap(n.get("precompiled_charsmap"))
	case "BertNormalizer":
		lowers := n.get("lowercase").boolOr(true)
		return bert(n.get("clean_text").boolOr(true), n.get("handle_chinese_chars").boolOr(true),
			n.get("strip_accents").boolOr(lowers), lowers)
	default:
		n.get("type").errorf("normalizer %q is not supported", kind)
	}
	return nil
}

func readCharsmap(n node) rewriter {
	b, err := base64.StdEncoding.DecodeString(n.text())
	if err != nil {
		n.errorf("not base64: %v", err)
		return nil
	}
	m, err := newCharsmap(b)
	if err != nil {
		n.errorf("%v", err)
		return nil
	}
	return m.precompiled
}

// readPattern reads {"String": …} or {"Regex": …}.
func readPattern(n node) matcher {
	if s := n.get("String"); s.has() {
		return literal(s.text())
	}
	p := n.get("Regex")
	m, err := regex(p.text())
	if err != nil {
		p.errorf("%v", err)
	}
	return m
}

// steps are pre-tokenizer steps while they are read.
type steps struct {
	list []step
	// patterns are the regular expressions of the last Split steps, isolated.
	patterns []string
	// byteStep: the last step is mapBytes and may be left to the model.
	byteStep bool
	// first: a step asks whether a piece starts the text.
	first bool
}

func (s *steps) add(st step) {
	s.list = append(s.list, st)
	s.patterns, s.byteStep = nil, false
}

func readPreTokenizer(n node) *steps {
	s := &steps{}
	s.read(n)
	return s
}

func (s *steps) read(n node) {
	if !n.has() {
		return
	}
	switch kind := n.get("type").text(); kind {
	case "Sequence":
		for _, c := range n.get("pretokenizers").list() {
			s.read(c)
		}
	case "ByteLevel":
		if n.get("add_prefix_space").boolOr(true) {
			s.add(step{rewrite: leadingBlank})
		}
		if n.get("use_regex").boolOr(true) {
			s.add(step{split: scanners[patternGPT2].splitter()})
		}
		s.add(step{rewrite: mapBytes})
		s.byteStep = true
	case "Metaspace":
		s.metaspace(n)
	case "Split":
		s.split(n)
	case "Whitespace":
		s.add(step{split: split(words, removed, true)})
	case "WhitespaceSplit":
		s.add(step{split: split(runes(unicode.IsSpace), removed, false)})
	case "CharDelimiterSplit":
		s.add(step{split: split(literal(n.get("delimiter").text()), removed, false)})
	case "BertPreTokenizer":
		s.add(step{split: both(split(runes(unicode.IsSpace), removed, false), split(runes(isBertPunct), isolated, false))})
	case "Punctuation":
		s.add(step{split: split(runes(isBertPunct), s.behavior(n, "Isolated"), false)})
	case "Digits":
		how := contiguous
		if n.get("individual_digits").boolOr(false) {
			how = isolated
		}
		s.add(step{split: split(runes(isNumeric), how, false)})
	case "UnicodeScripts":
		s.add(step{split: unicodeScripts})
	case "FixedLength":
		length := 5
		if x := n.get("length"); x.has() {
			length = int(x.number(1 << 30))
		}
		if length == 0 {
			n.get("length").errorf("must be at least 1")
			return
		}
		s.add(step{split: fixedLength(length)})
	default:
		n.get("type").errorf("pre-tokenizer %q is not supported", kind)
	}
}

func (s *steps) behavior(n node, def string) behavior {
	name := n.get("behavior").textOr(def)
	how, ok := behaviors[name]
	if !ok {
		n.get("behavior").errorf("%q is not a behaviour", name)
	}
	return how
}

func (s *steps) split(n node) {
	how, invert := s.behavior(n, ""), n.get("invert").boolOr(false)
	p := n.get("pattern")
	if str := p.get("String"); str.has() {
		s.add(step{split: split(literal(str.text()), how, invert)})
		return
	}
	pattern := p.get("Regex").text()
	sp, err := splitPattern(pattern, how, invert)
	if err != nil {
		p.get("Regex").errorf("%v", err)
		return
	}
	before := s.patterns
	s.add(step{split: sp})
	if how == isolated {
		s.patterns = append(before, pattern)
		if k := len(s.patterns) - 3; k >= 0 && [3]string(s.patterns[k:]) == deepSeekSteps {
			s.list = append(s.list[:len(s.list)-3], step{split: deepSeekAll(classes())})
		}
	}
}

// metaspace makes blanks visible, sets one before the text and splits at them.
func (s *steps) metaspace(n node) {
	mark := n.get("replacement").textOr("▁")
	scheme := prependScheme(n)
	switch scheme {
	case "first":
		s.first = true
	case "always", "never":
	default:
		n.get("prepend_scheme").errorf("%q is not a scheme (first, never, always)", scheme)
	}
	blanks := literal(" ")
	st := step{rewrite: func(t text, track bool) text {
		s := t
		if strings.Contains(t.s, " ") {
			s = replace(blanks, mark)(t, track)
		}
		if scheme == "never" || strings.HasPrefix(s.s, mark) || scheme == "first" && t.origin(0, min(1, len(t.s))).a != 0 {
			return s
		}
		return prepend(mark)(s, track)
	}}
	if n.get("split").boolOr(true) {
		st.split = split(literal(mark), mergedWithNext, false)
	}
	s.add(st)
}

// prependScheme knows the older form too.
func prependScheme(n node) string {
	def := "always"
	if !n.get("add_prefix_space").boolOr(true) {
		def = "never"
	}
	return n.get("prepend_scheme").textOr(def)
}

// leadingBlank is ByteLevel's add_prefix_space.
func leadingBlank(t text, track bool) text {
	if strings.HasPrefix(t.s, " ") {
		return t
	}
	return prepend(" ")(t, track)
}

// endsInBytes takes the last step away if it maps bytes to characters.
func (s *steps) endsInBytes() bool {
	if !s.byteStep {
		return false
	}
	s.list = s.list[:len(s.list)-1]
	s.byteStep = false
	return true
}

// done is the finished list, and whether origins are always needed: a Metaspace
// step behind anything that rewrites text asks where a piece came from.
func (s *steps) done(normalizes bool) ([]step, bool) {
	rewrites := normalizes
	for _, st := range s.list[:max(0, len(s.list)-1)] {
		rewrites = rewrites || st.rewrite != nil
	}
	return s.list, s.first && rewrites
}

// unicodeScripts splits where the script changes; blanks belong to any script,
// Kana to Han.
func unicodeScripts(s string, out []span) []span {
	last, start := "", -1
	for i, r := range s {
		sc := script(r)
		switch {
		case r == 0x30FC || sc == "Hiragana" || sc == "Katakana":
			sc = "Han"
		case r == ' ':
			sc = anyScript
		}
		if sc != anyScript && sc != last {
			if start >= 0 {
				out = append(out, span{start, i})
			}
			start = i
		}
		if sc != anyScript {
			last = sc
		}
	}
	if start >= 0 { // blanks before the first script are dropped, as the reference does
		out = append(out, span{start, len(s)})
	}
	return out
}

// anyScript is that of blanks and of characters without one.
const anyScript = ""

func script(r rune) string {
	if among(r, noScript) {
		return anyScript
	}
	for name, tab := range unicode.Scripts {
		if unicode.Is(tab, r) {
			return name
		}
	}
	return anyScript
}
