package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder rewrites the entries of the ids; the text is what they join to.
type decoder func(toks []string) []string

func (t *Tokenizer) readDecoder(n node) func(ids []int32, skipSpecial bool) string {
	if !n.has() {
		return func(ids []int32, skip bool) string { return strings.Join(t.tokens(ids, skip), " ") }
	}
	d := readDecoder(n)
	return func(ids []int32, skip bool) string { return strings.Join(d(t.tokens(ids, skip)), "") }
}

func readDecoder(n node) decoder {
	switch kind := n.get("type").text(); kind {
	case "Sequence":
		var ds []decoder
		for _, c := range n.get("decoders").list() {
			ds = append(ds, readDecoder(c))
		}
		return func(toks []string) []string {
			for _, d := range ds {
				toks = d(toks)
			}
			return toks
		}
	case "ByteLevel":
		return byteLevelDecoder
	case "ByteFallback":
		return byteFallbackDecoder
	case "Fuse":
		return func(toks []string) []string { return []string{strings.Join(toks, "")} }
	case "Replace":
		find, content := readPattern(n.get("pattern")), n.get("content").text()
		if find == nil {
			return nil
		}
		r := replace(find, content)
		return each(func(_ int, s string) string { return r(text{s: s}, false).s })
	case "Strip":
		return stripDecoder(n)
	case "Metaspace":
		mark, keeps := n.get("replacement").textOr("▁"), prependScheme(n) == "never"
		return each(func(i int, s string) string {
			if i == 0 && !keeps {
				return strings.ReplaceAll(s, mark, "")
			}
			return strings.ReplaceAll(s, mark, " ")
		})
	case "WordPiece":
		prefix, clean := n.get("prefix").textOr("##"), n.get("cleanup").boolOr(true)
		return each(func(i int, s string) string {
			if i > 0 {
				if rest, ok := strings.CutPrefix(s, prefix); ok {
					s = rest
				} else {
					s = " " + s
				}
			}
			if clean {
				s = cleanup(s)
			}
			return s
		})
	case "BPEDecoder":
		suffix := n.get("suffix").textOr("</w>")
		return func(toks []string) []string {
			return each(func(i int, s string) string {
				blank := " "
				if i == len(toks)-1 {
					blank = ""
				}
				return strings.ReplaceAll(s, suffix, blank)
			})(toks)
		}
	case "CTC":
		return ctcDecoder(n)
	default:
		n.get("type").errorf("decoder %q is not supported", kind)
	}
	return nil
}

// each decodes token by token.
func each(f func(i int, s string) string) decoder {
	return func(toks []string) []string {
		for i, s := range toks {
			toks[i] = f(i, s)
		}
		return toks
	}
}

func byteLevelDecoder(toks []string) []string {
	var b strings.Builder
	for _, s := range toks {
		if raw, ok := unmapBytes(s); ok {
			s = raw
		}
		b.WriteString(s)
	}
	return []string{lossy(b.String())}
}

// byteFallbackDecoder joins runs of <0xNN>. A run that is not UTF-8 as a whole
// becomes one U+FFFD for each of its bytes.
func byteFallbackDecoder(toks []string) []string {
	var out []string
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			if len(run) > 0 {
				out = append(out, string(run))
			}
		} else {
			out = append(out, slices.Repeat([]string{replacement}, len(run))...)
		}
		run = run[:0]
	}
	for _, s := range toks {
		if len(s) == 6 && strings.HasPrefix(s, "<0x") && s[5] == '>' {
			if b, err := strconv.ParseUint(s[3:5], 16, 8); err == nil {
				run = append(run, byte(b))
				continue
			}
		}
		flush()
		out = append(out, s)
	}
	flush()
	return out
}

// stripDecoder takes up to start and stop times content off the ends of tokens.
func stripDecoder(n node) decoder {
	c := n.get("content").text()
	start, stop := int(n.get("start").number(1<<30)), int(n.get("stop").number(1<<30))
	if utf8.RuneCountInString(c) != 1 {
		n.get("content").errorf("must be one character")
	}
	return each(func(_ int, s string) string {
		for range start {
			rest, ok := strings.CutPrefix(s, c)
			if !ok {
				break
			}
			s = rest
		}
		for range stop {
			rest, ok := strings.CutSuffix(s, c)
			if !ok {
				break
			}
			s = rest
		}
		return s
	})
}

func ctcDecoder(n node) decoder {
	pad, word := n.get("pad_token").textOr("<pad>"), n.get("word_delimiter_token").textOr("|")
	clean := n.get("cleanup").boolOr(true)
	return func(toks []string) []string {
		var out []string
		for _, s := range slices.Compact(toks) {
			s = strings.ReplaceAll(s, pad, "")
			if clean {
				s = strings.ReplaceAll(cleanup(s), word, " ")
			}
			if s != "" {
				out = append(out, s)
			}
		}
		return out
	}
}

// cleanup takes out blanks that tokenization left, one rule after the other.
func cleanup(s string) string {
	for _, r := range [][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
		{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}
