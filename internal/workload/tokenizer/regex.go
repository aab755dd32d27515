package tokenizer

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

func isWhite(r rune) bool { return unicode.IsSpace(r) }

// regex compiles a pattern of the reference's engine (Oniguruma, Ruby syntax) for
// an engine with .NET syntax. What cannot be carried over is refused.
func regex(pattern string) (matcher, error) {
	p, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(p, regexp2.Multiline, regexp2.OptionMaxBacktrackingStackSize(-1))
	if err != nil {
		return nil, err
	}
	return func(s string, out []span) []span {
		rs := []rune(s)
		rune0, byte0 := 0, 0 // the same place, in characters and in bytes
		// The engine fails on time-outs and stack limits alone; neither is set.
		_ = re.FindRunesMatches(rs, 0, func(m regexp2.MatchView) bool {
			at := func(r int) int {
				for ; rune0 < r; rune0++ {
					byte0 += utf8.RuneLen(rs[rune0])
				}
				return byte0
			}
			i, n, _ := m.GroupRange(0)
			a := at(i)
			out = append(out, span{a, at(i + n)})
			return true
		})
		return out
	}, nil
}

// wordClass is \w of the reference, as members of a character class.
var wordClass = property("L") + property("M") + property("Nd") + `\p{Nl}\p{Pc}` + "²³¹¼-¾" +
	"\u24B6-\u24E9\U0001F130-\U0001F149\U0001F150-\U0001F169\U0001F170-\U0001F189"

// newIn are the characters of a property that the engine does not know: it has
// Go's tables, the reference has those of Unicode 16.0.
var newIn = map[string][][][2]rune{
	"L": {newUpper, newLower, newModifier, newLetter}, "Lu": {newUpper}, "Ll": {newLower}, "Lm": {newModifier}, "Lo": {newLetter},
	"M": {newMark}, "N": {newDigit}, "Nd": {newDigit}, "P": {newPunct}, "S": {newSymbol}, "Han": {{{0x2EBF0, 0x2EE5D}}},
}

// property is \p{name} of the reference, as members of a character class.
func property(name string) string {
	out := `\p{` + name + `}`
	for _, tab := range newIn[name] {
		for _, r := range tab {
			out += string(r[0]) + "-" + string(r[1])
		}
	}
	return out
}

// translate rewrites what the two syntaxes spell differently: \w, \h, class
// intersections, and possessive quantifiers, which become atomic groups.
func translate(p string) (string, error) {
	out := ""
	atom := 0        // where in out the thing starts that a quantifier would repeat
	var groups []int // the same of open groups
	quantifier := "" // the last byte of the quantifier that ends here: * + ? or }
	for i := 0; i < len(p); {
		was := quantifier
		quantifier = ""
		switch {
		case p[i] == '\\' && i+1 < len(p):
			t, n, err := escape(p[i:], false)
			if err != nil {
				return "", err
			}
			atom = len(out)
			out += t
			i += n
		case p[i] == '[':
			t, n, err := charClass(p[i:])
			if err != nil {
				return "", err
			}
			atom = len(out)
			out += t
			i += n
		case strings.HasPrefix(p[i:], "(?") && strings.ContainsAny(flags(p[i+2:]), "mx"):
			return "", errors.New("the flags m and x are not supported")
		case strings.HasPrefix(p[i:], "(?"):
			groups = append(groups, len(out))
			out += "(?"
			i += 2
		case p[i] == '+' && len(was) == 1:
			if was == "}" { // possessive to some engines, a repetition to others
				return "", errors.New("the quantifier {…}+ is not supported")
			}
			out = out[:atom] + "(?>" + out[atom:] + ")"
			i++
		default:
			switch c := p[i]; {
			case c == '(':
				groups = append(groups, len(out))
			case c == ')' && len(groups) > 0:
				atom = groups[len(groups)-1]
				groups = groups[:len(groups)-1]
			case strings.IndexByte("*+?}", c) >= 0:
				if quantifier = string(c); was != "" { // lazy
					quantifier = ""
				}
			case c == '{':
			case c >= '0' && c <= '9' || c == ',':
				if !strings.HasSuffix(strings.TrimRight(out, "0123456789,"), "{") {
					atom = len(out)
				}
			case c < utf8.RuneSelf || utf8.RuneStart(c):
				atom = len(out)
			}
			out += string(p[i : i+1])
			i++
		}
	}
	return out, nil
}

// flags are the letters of (?flags) and (?flags:…).
func flags(s string) string {
	n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
	if n < 0 || s[n] != ':' && s[n] != ')' {
		return ""
	}
	return s[:n]
}

// escape translates the escape that s starts with.
func escape(s string, inClass bool) (out string, n int, err error) {
	switch s[1] {
	case 'w':
		if inClass {
			return wordClass, 2, nil
		}
		return "[" + wordClass + "]", 2, nil
	case 'W':
		if inClass {
			return "", 0, errors.New(`\W inside a class is not supported`)
		}
		return "[^" + wordClass + "]", 2, nil
	case 'h':
		if inClass {
			return "0-9a-fA-F", 2, nil
		}
		return "[0-9a-fA-F]", 2, nil
	case 'H', 'R', 'X', 'K', 'G', 'g', 'y', 'Y', 'O', 'N':
		return "", 0, errors.New(`\` + s[1:2] + " is not supported")
	case 'b', 'B':
		if !inClass {
			return "", 0, errors.New(`\` + s[1:2] + " is not supported")
		}
	case 'x':
		if strings.HasPrefix(s, `\x{`) {
			var r rune
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return "", 0, errors.New(`\x{ without }`)
			}
			for _, c := range strings.ToLower(s[3:end]) {
				d := strings.IndexRune("0123456789abcdef", c)
				if d < 0 || r > 0x10FFFF {
					return "", 0, errors.New("bad " + s[:end+1])
				}
				r = r<<4 | rune(d)
			}
			return regexp2.Escape(string(r)), end + 1, nil
		}
	case 'p', 'P':
		if strings.HasPrefix(s[2:], "{^") {
			return "", 0, errors.New(`\p{^…} is not supported`)
		}
		end := strings.IndexByte(s, '}')
		if end < 0 || s[2] != '{' {
			return "", 0, errors.New(`\` + s[1:2] + " needs a {name}")
		}
		members := property(s[3:end])
		switch {
		case newIn[s[3:end]] == nil, s[1] == 'P' && inClass:
			return s[:end+1], end + 1, nil
		case s[1] == 'P':
			return "[^" + members + "]", end + 1, nil
		case inClass:
			return members, end + 1, nil
		}
		return "[" + members + "]", end + 1, nil
	case 'd', 'D':
		if s[1] == 'D' && inClass {
			break
		}
		t, _, err := escape(map[byte]string{'d': `\p{Nd}`, 'D': `\P{Nd}`}[s[1]], inClass)
		return t, 2, err
	}
	_, n = utf8.DecodeRuneInString(s[1:])
	return s[:1+n], 1 + n, nil
}

// charClass translates the class that s starts with. [a&&[^b]] becomes
// (?:(?![b])[a]), [a&&[b]] becomes (?:(?=[b])[a]).
func charClass(s string) (out string, n int, err error) {
	var b strings.Builder
	b.WriteByte('[')
	look := ""
	i := 1
	if i < len(s) && s[i] == '^' {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == ']' && !first:
			b.WriteByte(']')
			if look != "" {
				return "(?:" + look + b.String() + ")", i + 1, nil
			}
			return b.String(), i + 1, nil
		case s[i] == '\\' && i+1 < len(s):
			t, n, err := escape(s[i:], true)
			if err != nil {
				return "", 0, err
			}
			b.WriteString(t)
			i += n
		case strings.HasPrefix(s[i:], "&&["):
			if s[1] == '^' {
				return "", 0, errors.New("an intersection in a negated class is not supported")
			}
			t, n, err := charClass(s[i+2:])
			if err != nil {
				return "", 0, err
			}
			if !strings.HasPrefix(t, "[") || i+2+n >= len(s) || s[i+2+n] != ']' {
				return "", 0, errors.New("nested intersections are not supported")
			}
			if rest, negated := strings.CutPrefix(t, "[^"); negated {
				look = "(?![" + rest + ")"
			} else {
				look = "(?=" + t + ")"
			}
			i += 2 + n
		case strings.HasPrefix(s[i:], "&&"):
			return "", 0, errors.New("this class intersection is not supported")
		case strings.HasPrefix(s[i:], "[:"):
			return "", 0, errors.New("POSIX classes are not supported")
		case s[i] == '[':
			return "", 0, errors.New("nested classes are not supported")
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return "", 0, errors.New("a class without its ]")
}
