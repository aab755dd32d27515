package chart

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"tokentape/internal/report"
)

// The functions of this file write numbers as JavaScript does.

// up is x, moved away from zero by as little as there is where x lies in the middle
// between two numbers of d more binary digits: JavaScript rounds these up, strconv to
// even.
func up(x float64, tie bool) float64 {
	if tie {
		return math.Nextafter(x, math.Copysign(math.Inf(1), x))
	}
	return x
}

// toFixed is Number(x.toFixed(d)).
func toFixed(x float64, d int) float64 {
	twice := math.Abs(math.Ldexp(x, d+1)) // of a half this is an odd integer, exactly
	tie := twice < 1<<52 && twice == math.Trunc(twice) && math.Mod(twice, 2) == 1
	return parse(strconv.FormatFloat(up(x, tie), 'f', d, 64))
}

// toPrecision is Number(x.toPrecision(p)).
func toPrecision(x float64, p int) float64 {
	longer := strconv.FormatFloat(x, 'e', p, 64)
	mantissa, _, _ := strings.Cut(longer, "e")
	tie := false
	if strings.HasSuffix(mantissa, "5") {
		a, ok := new(big.Rat).SetString(longer)
		b := new(big.Rat).SetFloat64(x)
		tie = ok && b != nil && a.Cmp(b) == 0
	}
	return parse(strconv.FormatFloat(up(x, tie), 'e', p-1, 64))
}

func parse(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err) // strconv wrote it
	}
	return f
}

// text is String(x).
func text(x float64) string {
	a := math.Abs(x)
	if x == 0 {
		return "0"
	}
	if a >= 1e21 || a < 1e-6 {
		s := strconv.FormatFloat(x, 'e', -1, 64)
		return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(s)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// round is Math.round.
func round(x float64) float64 { return math.Floor(x + 0.5) }

// log10 is exact for powers of ten.
func log10(x float64) float64 {
	l := math.Log10(x)
	if r := math.Round(l); math.Pow(10, r) == x {
		return r
	}
	return l
}

// num rounds for the eye; a dash for what is not there.
func num(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	return report.Number(x)
}

// at is what a pointer points to, NaN where it is nil.
func at(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func tick(v float64) string {
	a := math.Abs(v)
	for _, k := range []struct {
		least, per float64
		suffix     string
	}{{1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if a >= k.least {
			return text(toPrecision(v/k.per, 4)) + k.suffix
		}
	}
	if a >= 1e3 {
		return report.Number(round(v))
	}
	return text(toPrecision(v, 4))
}

func ticks(lo, hi, most float64) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	raw := (hi - lo) / math.Max(1, most)
	unit := math.Pow(10, math.Floor(log10(raw)))
	step := math.NaN()
	for _, k := range []float64{1, 2, 5, 10} {
		if k*unit >= raw*0.999 {
			step = k * unit
			break
		}
	}
	var out []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9 && len(out) < 100; i++ {
		out = append(out, toPrecision(i*step, 12))
	}
	return out
}

func logTicks(lo, hi, most float64) []float64 {
	from, to := int(math.Floor(log10(lo))), int(math.Ceil(log10(hi)))
	every := 1
	if to-from > 6 {
		every = int(math.Ceil(float64(to-from) / math.Max(2, most)))
	}
	steps := []float64{1, 2, 5}
	if to-from > 3 {
		steps = steps[:1]
	}
	var out []float64
	for e := from; e <= to; e += every {
		for _, k := range steps {
			if v := toPrecision(k*math.Pow(10, float64(e)), 12); v >= lo*0.999 && v <= hi*1.001 {
				out = append(out, v)
			}
		}
	}
	if len(out) > 1 {
		return out
	}
	return []float64{lo, hi}
}
