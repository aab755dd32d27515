package synth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
)

// maxLength bounds every length, in tokens.
const maxLength = 1 << 24

// Lengths is a distribution of token lengths.
type Lengths struct {
	text   string
	draw   func(r *rand.Rand, i int64) int
	pairs  []pair // of a joint file
	sha256 string // of the file, "" without one
}

type pair struct{ in, out int }

// String is the text that was parsed.
func (l Lengths) String() string { return l.text }

// SHA256 is the hash of the file behind the lengths, "" when there is none.
func (l Lengths) SHA256() string { return l.sha256 }

// Joint reports lengths that come in pairs of input and output.
func (l Lengths) Joint() bool { return l.pairs != nil }

// forms says what ParseLengths takes.
const forms = "a number, uniform:A-B, normal:MEAN,SD, lognormal:MEAN,SD, zipf:S,MIN-MAX, file:PATH or pairs:PATH"

// ParseLengths reads a distribution of lengths in tokens, each from 1 to 2^24:
//
//	16384                 always that
//	uniform:A-B           every length from A to B alike
//	normal:MEAN,SD        rounded; draws outside 1…2^24 are drawn again
//	lognormal:MEAN,SD     of the length itself, not of its logarithm; likewise
//	zipf:S,MIN-MAX        P(k) ∝ k^-S for k from MIN to MAX ≤ 2^20, S from 0 to 20; zipf:S,MAX from 1
//	file:PATH             one length a line, in the order of the file, again from its start
//	pairs:PATH            input,output a line, likewise
//
// normal and lognormal take bounds as a third part: normal:512,200,16-4096.
func ParseLengths(text string) (Lengths, error) {
	l := Lengths{text: text}
	kind, rest, ok := strings.Cut(text, ":")
	var err error
	if !ok {
		var n int
		if n, err = length(text); err == nil {
			l.draw = func(*rand.Rand, int64) int { return n }
		}
	} else {
		switch kind {
		case "uniform":
			var a, b int
			if a, b, err = bounds(rest); err == nil {
				l.draw = func(r *rand.Rand, _ int64) int { return a + r.IntN(b-a+1) }
			}
		case "normal", "lognormal":
			l.draw, err = bell(kind, rest)
		case "zipf":
			l.draw, err = zipf(rest)
		case "file", "pairs":
			err = l.read(kind == "pairs", rest)
		default:
			err = fmt.Errorf("%q is no distribution", kind)
		}
	}
	if err != nil {
		return Lengths{}, fmt.Errorf("length %q: %w; give %s", text, err, forms)
	}
	return l, nil
}

func length(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	if n < 1 || n > maxLength {
		return 0, fmt.Errorf("%d is not between 1 and %d tokens", n, maxLength)
	}
	return n, nil
}

func bounds(s string) (a, b int, err error) {
	lo, hi, ok := strings.Cut(s, "-")
	if !ok {
		return 0, 0, fmt.Errorf("%q is not A-B", s)
	}
	if a, err = length(lo); err != nil {
		return 0, 0, err
	}
	if b, err = length(hi); err != nil {
		return 0, 0, err
	}
	if a > b {
		return 0, 0, fmt.Errorf("%d is above %d", a, b)
	}
	return a, b, nil
}

func number(s string, least, most float64) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(x >= least && x <= most) {
		return 0, fmt.Errorf("%q is not a number from %g to %g", s, least, most)
	}
	return x, nil
}

// tries bounds how often a draw outside its bounds is drawn again.
const tries = 10000

func bell(kind, s string) (func(*rand.Rand, int64) int, error) {
	parts := strings.Split(s, ",")
	if len(parts) != 2 && len(parts) != 3 {
		return nil, fmt.Errorf("%q is not MEAN,SD", s)
	}
	mean, err := number(parts[0], 1, maxLength)
	if err != nil {
		return nil, err
	}
	sd, err := number(parts[1], 0, maxLength)
	if err != nil {
		return nil, err
	}
	lo, hi := 1, maxLength
	if len(parts) == 3 {
		if lo, hi, err = bounds(parts[2]); err != nil {
			return nil, err
		}
	}
	one := func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
	if kind == "lognormal" {
		v := math.Log1p(sd * sd / (mean * mean))
		mu, sigma := math.Log(mean)-v/2, math.Sqrt(v)
		one = func(r *rand.Rand) float64 { return math.Exp(mu + sigma*r.NormFloat64()) }
	}
	// Bounds far from the mean would be drawn for ever.
	probe := rand.New(rand.NewPCG(1, 1))
	inside := 0
	for range tries {
		if x := math.Round(one(probe)); x >= float64(lo) && x <= float64(hi) {
			inside++
		}
	}
	if inside < tries/100 {
		return nil, fmt.Errorf("under 1 %% of its draws lie within %d-%d", lo, hi)
	}
	return func(r *rand.Rand, _ int64) int {
		for range tries {
			if x := math.Round(one(r)); x >= float64(lo) && x <= float64(hi) {
				return int(x)
			}
		}
		return min(max(int(mean), lo), hi) // 0.99^10000: never
	}, nil
}

func zipf(s string) (func(*rand.Rand, int64) int, error) {
	exp, most, ok := strings.Cut(s, ",")
	if !ok {
		return nil, fmt.Errorf("%q is not S,MAX or S,MIN-MAX", s)
	}
	x, err := number(exp, 0, 20)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(most, "-") {
		most = "1-" + most
	}
	lo, hi, err := bounds(most)
	if err != nil {
		return nil, err
	}
	if hi > 1<<20 {
		return nil, fmt.Errorf("MAX %d is above %d", hi, 1<<20)
	}
	sums := make([]float64, hi-lo+1)
	sum := 0.0
	for k := range sums {
		sum += math.Pow(float64(lo+k)/float64(lo), -x) // over lo^-x, which can be too small to add up
		sums[k] = sum
	}
	return func(r *rand.Rand, _ int64) int {
		return lo + min(sort.SearchFloat64s(sums, r.Float64()*sum), len(sums)-1)
	}, nil
}

// maxLengthsFile bounds a file of lengths in bytes.
const maxLengthsFile = 256 << 20

func (l *Lengths) read(joint bool, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > maxLengthsFile {
		return fmt.Errorf("%s is no regular file of at most %d MiB", path, maxLengthsFile>>20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	l.sha256 = hex.EncodeToString(sum[:])
	var list []pair
	sc := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))))
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" {
			continue
		}
		in, out, two := strings.Cut(text, ",")
		if two != joint {
			want := "one length"
			if joint {
				want = "input,output"
			}
			return fmt.Errorf("%s:%d: %.40q is not %s", path, line, text, want)
		}
		var p pair
		if p.in, err = length(in); err == nil && joint {
			p.out, err = length(out)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		list = append(list, p)
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return fmt.Errorf("%s holds no length", path)
	}
	l.draw = func(_ *rand.Rand, i int64) int { return list[i%int64(len(list))].in }
	if joint {
		l.pairs = list
	}
	return nil
}
