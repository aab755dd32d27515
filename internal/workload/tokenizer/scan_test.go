package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// tricky are characters at which the patterns decide: one or more of every class,
// contractions, and what folds to them.
const tricky = "aAbzZsStTdDmMrReEvVlLſKk09²Ⅷ٣½'’\" \t\r\n\v\f\u0085\u00a0\u2028\u3000" +
	"!,./;:?()[]{}<>|\\^_`~+-=$#@&*%€。、！「」·☃😀中文龥龦ぁゟ゠ァヿ・ー゛゙あア한글กำ" +
	"ʰªºǅǈéßİıΣσςЖжאبःा़̧́⃝\u0000\u0001\u001f\u007f\u00ad\u200b\u200d\ufeff\ufffd\U000e0001\U0010ffff𝐀𝒶ⅻ〇々"

// samples are texts for the patterns: mixtures of tricky characters, words, and
// any character that both Unicode versions know alike.
func samples(t *rapid.T) string {
	alphabet := []rune(tricky)
	part := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom(alphabet), 1, 6, -1),
		rapid.SampledFrom([]string{"Hello", " world", "don't", "I'LL", "we'Ve", "x'ſ", "12345", "3.14", "\r\n\r\n", "   ", "\n  \n", " \n", "HTTPServer", "camelCase", "中A", "A中b", "éA", "!a", " .x", "?\n\n", "//\n/", "  /\n"}),
		rapid.Map(rapid.Rune(), func(r rune) string {
			if !utf8.ValidRune(r) || isNew(r) {
				return "x"
			}
			return string(r)
		}),
	)
	return strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
}

func isNew(r rune) bool {
	for _, tab := range [][][2]rune{newUpper, newLower, newModifier, newLetter, newMark, newDigit, newPunct, newSymbol} {
		if among(r, tab) {
			return true
		}
	}
	return false
}

func byPattern(t testing.TB, pattern string) splitter {
	find, err := regex(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return split(find, isolated, false)
}

// Every scanner splits as its pattern does.
func TestScanners(t *testing.T) {
	for pattern, sc := range scanners {
		t.Run(pattern[:12], func(t *testing.T) {
			fast, slow := sc.splitter(), byPattern(t, pattern)
			rapid.Check(t, func(t *rapid.T) {
				s := samples(t)
				compareSplits(t, s, fast(s, nil), slow(s, nil))
			})
		})
	}
	t.Run("deepseek's three steps", func(t *testing.T) {
		fast := deepSeekAll(classes())
		slow := both(both(byPattern(t, deepSeekSteps[0]), byPattern(t, deepSeekSteps[1])), byPattern(t, deepSeekSteps[2]))
		rapid.Check(t, func(t *rapid.T) {
			s := samples(t)
			compareSplits(t, s, fast(s, nil), slow(s, nil))
		})
	})
}

type failer interface {
	Fatalf(string, ...any)
}

func compareSplits(t failer, s string, got, want []span) {
	if !slices.Equal(got, want) {
		t.Fatalf("%q splits into\n%q, by the pattern into\n%q", s, cut(s, got), cut(s, want))
	}
}

func cut(s string, ps []span) (out []string) {
	for _, p := range ps {
		out = append(out, s[p.a:p.b])
	}
	return out
}

func FuzzScanners(f *testing.F) {
	for _, s := range []string{tricky, "Don't  stop\n\n  now 12345 中文ABCdef", "\u0301A", " \u0301a", "A\u0301'S"} {
		f.Add(s)
	}
	type pair struct{ fast, slow splitter }
	var pairs []pair
	for pattern, sc := range scanners {
		pairs = append(pairs, pair{sc.splitter(), byPattern(f, pattern)})
	}
	pairs = append(pairs, pair{deepSeekAll(classes()),
		both(both(byPattern(f, deepSeekSteps[0]), byPattern(f, deepSeekSteps[1])), byPattern(f, deepSeekSteps[2]))})
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, isNew) {
			return
		}
		for _, p := range pairs {
			compareSplits(t, s, p.fast(s, nil), p.slow(s, nil))
		}
	})
}

// The classes are those of Unicode 16.0, as the reference's engine has them. Its
// own numbers of characters, so that a newer Go cannot change them unnoticed.
func TestClasses(t *testing.T) {
	count := map[class]int{}
	for _, c := range classes() {
		count[c]++
	}
	for c, want := range map[class]int{
		cUpper: 1858 + 31, cLower: 2258, cLetter: 404 + 136477, cMark: 2501, cNumber: 1911, cPunct: 855, cSymbol: 8514, cSpace: 23, cNewline: 2,
	} {
		if count[c] != want {
			t.Errorf("class %d has %d characters, want %d (Go's tables are Unicode %s)", c, count[c], want, unicode.Version)
		}
	}
}
