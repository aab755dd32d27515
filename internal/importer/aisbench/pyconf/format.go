package pyconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// text is str(v), or with repr what Python writes within lists. It gives up
// beyond limit bytes.
func text(v starlark.Value, repr bool, limit int) (string, error) {
	var b strings.Builder
	err := write(&b, v, repr, limit, 0)
	return b.String(), err
}

func write(b *strings.Builder, v starlark.Value, repr bool, limit, depth int) error {
	if b.Len() > limit || depth > maxDepth {
		return fmt.Errorf("the text of this value is longer than %d bytes", limit)
	}
	list := func(open string, n int, at func(int) starlark.Value, end string) error {
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := write(b, at(i), true, limit, depth+1); err != nil {
				return err
			}
		}
		b.WriteString(end)
		return nil
	}
	switch v := v.(type) {
	case starlark.String:
		if repr {
			b.WriteString(pyQuote(string(v)))
		} else {
			b.WriteString(string(v))
		}
	case starlark.Float:
		b.WriteString(pyFloat(float64(v)))
	case *starlark.List:
		return list("[", v.Len(), v.Index, "]")
	case starlark.Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		return list("(", len(v), v.Index, end)
	case *starlark.Dict:
		b.WriteByte('{')
		for i, kv := range v.Items() {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := write(b, kv[0], true, limit, depth+1); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := write(b, kv[1], true, limit, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.String())
	}
	return nil
}

func pyQuote(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, q, `\`+q)
	return q + r.Replace(s) + q
}

// pyFloat is repr(f).
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// maxWidth bounds what a format can pad to.
const maxWidth = 1 << 20

// layout is a parsed format: [[fill]align][sign][#][0][width][,][.precision][type].
type layout struct {
	fill              rune
	align, sign, kind byte
	alt, zero         bool
	group             byte
	width, precision  int // precision -1: not given
}

func parseLayout(spec string) (layout, error) {
	l := layout{fill: ' ', precision: -1}
	rest := spec
	if r, n := utf8.DecodeRuneInString(rest); n > 0 && len(rest) > n && strings.IndexByte("<>=^", rest[n]) >= 0 {
		l.fill, l.align, rest = r, rest[n], rest[n+1:]
	} else if rest != "" && strings.IndexByte("<>=^", rest[0]) >= 0 {
		l.align, rest = rest[0], rest[1:]
	}
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		l.sign, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, "#") {
		l.alt, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "0") {
		l.zero, rest = true, rest[1:]
	}
	count := func() int {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		v, err := strconv.Atoi(rest[:n])
		if err != nil || v > maxWidth {
			v = maxWidth + 1
		}
		rest = rest[n:]
		return v
	}
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		l.width = count()
	}
	if rest != "" && (rest[0] == ',' || rest[0] == '_') {
		l.group, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return l, fmt.Errorf("the format %q is not understood", spec)
		}
		l.precision = count()
	}
	if len(rest) == 1 && strings.Contains("bcdeEfFgGnosxX%", rest) {
		l.kind, rest = rest[0], ""
	}
	if rest != "" {
		return l, fmt.Errorf("the format %q is not understood", spec)
	}
	if l.width > maxWidth || l.precision > 1000 && l.kind != 's' && l.kind != 0 {
		return l, fmt.Errorf("the format %q is too wide", spec)
	}
	return l, nil
}

// format is format(v, spec).
func format(v starlark.Value, spec string, limit int) (string, error) {
	l, err := parseLayout(spec)
	if err != nil {
		return "", err
	}
	return l.apply(v, spec, limit)
}

func (l layout) apply(v starlark.Value, spec string, limit int) (string, error) {
	if b, ok := v.(starlark.Bool); ok && l.kind != 0 && l.kind != 's' {
		v = starlark.MakeInt(0)
		if b {
			v = starlark.MakeInt(1)
		}
	}
	i, isInt := v.(starlark.Int)
	f, isFloat := v.(starlark.Float)
	switch {
	case isInt && strings.IndexByte("\x00dnbcoxX", l.kind) >= 0:
		return l.integer(i, spec)
	case (isInt || isFloat) && strings.IndexByte("\x00eEfFgGn%", l.kind) >= 0:
		if isInt {
			f = i.Float()
		}
		return l.float(float64(f)), nil
	case isInt || isFloat:
		return "", fmt.Errorf("the format %q does not fit the number %v", spec, v)
	}
	if l.kind != 0 && l.kind != 's' || l.sign != 0 || l.group != 0 || l.align == '=' {
		return "", fmt.Errorf("the format %q does not fit a %s", spec, v.Type())
	}
	s, err := text(v, false, limit)
	if err != nil {
		return "", err
	}
	if r := []rune(s); l.precision >= 0 && len(r) > l.precision {
		s = string(r[:l.precision])
	}
	if l.zero && l.align == 0 {
		l.fill, l.align = '0', '<'
	}
	return l.pad("", s, '<'), nil
}

func (l layout) integer(i starlark.Int, spec string) (string, error) {
	if l.precision >= 0 {
		return "", fmt.Errorf("the format %q: a precision does not fit a whole number", spec)
	}
	base, prefix, each := 10, "", 3
	switch l.kind {
	case 'b':
		base, prefix, each = 2, "0b", 4
	case 'o':
		base, prefix, each = 8, "0o", 4
	case 'x', 'X':
		base, prefix, each = 16, "0x", 4
	case 'c':
		n, ok := i.Int64()
		if !ok || !utf8.ValidRune(rune(n)) || n > utf8.MaxRune {
			return "", fmt.Errorf("%v is no character", i)
		}
		return l.pad("", string(rune(n)), '<'), nil
	}
	digits := i.BigInt().Text(base)
	digits, negative := strings.CutPrefix(digits, "-")
	if l.group != 0 {
		digits = grouped(digits, l.group, each)
	}
	if !l.alt {
		prefix = ""
	}
	if l.kind == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	return l.pad(l.signOf(negative)+prefix, digits, '>'), nil
}

func (l layout) float(f float64) string {
	negative := math.Signbit(f) && !math.IsNaN(f)
	f = math.Abs(f)
	p, kind, percent := l.precision, l.kind, ""
	if kind == '%' {
		f, kind, percent = f*100, 'f', "%"
	}
	if p < 0 && kind != 0 {
		p = 6
	}
	var s string
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		s = pyFloat(f)
	case kind == 0 && p < 0:
		s = pyFloat(f)
	case kind == 0 || kind == 'n' || kind == 'g' || kind == 'G':
		s = general(f, max(p, 1), l.alt)
		if kind == 0 && !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
	default:
		s = strconv.FormatFloat(f, kind|0x20, p, 64)
	}
	if kind == 'E' || kind == 'G' || kind == 'F' {
		s = strings.ToUpper(s)
	}
	if l.group != 0 {
		whole, rest := s, ""
		if k := strings.IndexAny(s, ".e"); k >= 0 {
			whole, rest = s[:k], s[k:]
		}
		s = grouped(whole, l.group, 3) + rest
	}
	return l.pad(l.signOf(negative), s+percent, '>')
}

// general is %g: p significant digits, trailing zeros dropped.
func general(f float64, p int, keep bool) string {
	s := strconv.FormatFloat(f, 'e', p-1, 64)
	mantissa, e, _ := strings.Cut(s, "e")
	exp, _ := strconv.Atoi(e)
	tail := ""
	if exp < -4 || exp >= p {
		tail = "e" + e
	} else {
		mantissa = strconv.FormatFloat(f, 'f', p-1-exp, 64)
	}
	if !keep && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + tail
}

func (l layout) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case l.sign == '+' || l.sign == ' ':
		return string(l.sign)
	}
	return ""
}

func grouped(digits string, mark byte, each int) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%each == 0 {
			b.WriteByte(mark)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// pad fills to the width.
func (l layout) pad(sign, s string, align byte) string {
	fill := l.fill
	if l.align != 0 {
		align = l.align
	} else if l.zero {
		fill, align = '0', '='
	}
	n := l.width - utf8.RuneCountInString(sign+s)
	if n <= 0 {
		return sign + s
	}
	pad := func(n int) string { return strings.Repeat(string(fill), n) }
	switch align {
	case '<':
		return sign + s + pad(n)
	case '^':
		return pad(n/2) + sign + s + pad(n-n/2)
	case '=':
		return sign + pad(n) + s
	}
	return pad(n) + sign + s
}

// percent is the % operator of texts.
func percent(s string, arg starlark.Value, limit int) (string, error) {
	args, isTuple := arg.(starlark.Tuple)
	if !isTuple {
		args = starlark.Tuple{arg}
	}
	dict, _ := arg.(*starlark.Dict)
	var b strings.Builder
	used := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", fmt.Errorf("the text ends with a single %%")
		}
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		var v starlark.Value
		if s[i] == '(' {
			n := strings.IndexByte(s[i:], ')')
			if n < 0 || dict == nil {
				return "", fmt.Errorf("%%(name) needs a dict")
			}
			var found bool
			if v, found, _ = dict.Get(starlark.String(s[i+1 : i+n])); !found {
				return "", fmt.Errorf("the dict has no key %q", s[i+1:i+n])
			}
			i += n + 1
		}
		l := layout{fill: ' ', precision: -1}
		for ; i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0; i++ {
			switch s[i] {
			case '-':
				l.align = '<'
			case '#':
				l.alt = true
			case '0':
				l.zero = true
			default:
				l.sign = s[i]
			}
		}
		end := i
		for end < len(s) && strings.IndexByte("0123456789.", s[end]) >= 0 {
			end++
		}
		width, precision, dot := strings.Cut(s[i:end], ".")
		l.width, _ = strconv.Atoi(width)
		if dot {
			l.precision, _ = strconv.Atoi(precision)
		}
		if i = end; i >= len(s) || l.width > maxWidth || l.precision > 1000 {
			return "", fmt.Errorf("a format after %% is not understood")
		}
		if v == nil {
			if used >= len(args) {
				return "", fmt.Errorf("the text asks for more values than the %d given", len(args))
			}
			v = args[used]
			used++
		}
		kind := s[i]
		switch kind {
		case 's', 'r', 'a':
			t, err := text(v, kind != 's', limit-b.Len())
			if err != nil {
				return "", err
			}
			if r := []rune(t); l.precision >= 0 && len(r) > l.precision {
				t = string(r[:l.precision])
			}
			l.zero = false
			b.WriteString(l.pad("", t, '>'))
			continue
		case 'i', 'u':
			kind = 'd'
		}
		if f, ok := v.(starlark.Float); ok && kind == 'd' {
			whole, err := starlark.NumberToInt(f)
			if err != nil {
				return "", err
			}
			v = whole
		}
		if l.kind = kind; strings.IndexByte("dxXoeEfFgGc", kind) < 0 {
			return "", fmt.Errorf("the format %%%c is not known", kind)
		}
		if kind == 'd' {
			l.precision = -1
		}
		t, err := l.apply(v, "%"+string(kind), limit)
		if err != nil {
			return "", err
		}
		b.WriteString(t)
	}
	if used < len(args) && dict == nil {
		return "", fmt.Errorf("the text asks for %d of the %d values given", used, len(args))
	}
	return b.String(), nil
}
