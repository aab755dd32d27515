package html

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// together are the inks that stand beside each other in one chart without another sign
// (dashes, height of a bar, area) that tells them apart.
var together = map[string]string{
	"in flight":   "blue sky orange brown",
	"rates":       "blue green red purple", // grey is dashed
	"percentiles": "red blue grey",         // orange is dashed
	"waterfall":   "purple blue green sky red orange",
	"waits":       "yellow brown", // of half a bar's height, before it
	"stalls":      "black green",  // of half a bar's height, within it
	"windows":     "blue orange green purple grey sky",
	"pages":       "blue orange green purple grey yellow sky red",
	"client lag":  "orange purple grey",
	"client":      "green red",
	"failures":    "red orange",
}

// Inks that share a chart differ for those who see no red, no green or no blue: by the
// model of Machado et al. 2009 at its full severity, CIEDE2000 of 8 or more, where 1 is
// just seen; for the others of 12 or more.
func TestColourBlind(t *testing.T) {
	for _, theme := range []string{"light", "dark"} {
		js := regexp.MustCompile(`(?s)  ` + theme + `: \{(.*?)\n  \},`).FindSubmatch(Drawing())
		inks := map[string][3]float64{}
		for _, c := range regexp.MustCompile(`([a-z]+): "(#[0-9a-f]{6})"`).FindAllStringSubmatch(string(js[1]), -1) {
			inks[c[1]] = linear(t, c[2])
		}
		for chart, names := range together {
			list := strings.Fields(names)
			for i, a := range list {
				for _, b := range list[:i] {
					for sight, m := range sights {
						least := 8.
						if sight == "all colours" {
							least = 12
						}
						if d := ciede2000(lab(seen(m, inks[a])), lab(seen(m, inks[b]))); d < least {
							t.Errorf("%s, %s: %s and %s differ by %.1f where %s are seen", theme, chart, a, b, d, sight)
						}
					}
				}
			}
		}
	}
}

// The formula is that of Sharma, Wu and Dalal 2005: pairs of their test data.
func TestCIEDE2000(t *testing.T) {
	for _, c := range []struct {
		a, b [3]float64
		want float64
	}{
		{[3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}, 2.0425},
		{[3]float64{50, 2.5, 0}, [3]float64{73, 25, -18}, 27.1492},
		{[3]float64{50, 2.5, 0}, [3]float64{50, 0, -2.5}, 4.3065},
		{[3]float64{22.7233, 20.0904, -46.6940}, [3]float64{23.0331, 14.9730, -42.5619}, 2.0373},
		{[3]float64{2.0776, 0.0795, -1.1350}, [3]float64{0.9033, -0.0636, -0.5514}, 0.9082},
	} {
		if got := ciede2000(c.a, c.b); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%v and %v: %.4f, want %.4f", c.a, c.b, got, c.want)
		}
	}
}

// sights are what is seen of linear sRGB.
var sights = map[string][3][3]float64{
	"all colours":   {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"all but red":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"all but green": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"all but blue":  {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func seen(m [3][3]float64, c [3]float64) (out [3]float64) {
	for i := range 3 {
		for j := range 3 {
			out[i] += m[i][j] * c[j]
		}
		out[i] = min(1, max(0, out[i]))
	}
	return out
}

// linear are the channels of a colour such as #0072b2, 0 to 1, without the gamma of sRGB.
func linear(t *testing.T, hex string) (out [3]float64) {
	t.Helper()
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c := float64(v>>(16-8*i)&255) / 255
		if c <= 0.04045 {
			out[i] = c / 12.92
		} else {
			out[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return out
}

// lab is CIELAB for D65.
func lab(c [3]float64) [3]float64 {
	f := func(v float64) float64 {
		if v > 216./24389 {
			return math.Cbrt(v)
		}
		return (24389./27*v + 16) / 116
	}
	x := f((0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047)
	y := f(0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2])
	z := f((0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func ciede2000(p, q [3]float64) float64 {
	const rad = math.Pi / 180
	far := math.Pow(25, 7)
	mean7 := math.Pow((math.Hypot(p[1], p[2])+math.Hypot(q[1], q[2]))/2, 7)
	g := 1 + 0.5*(1-math.Sqrt(mean7/(mean7+far)))
	c1, c2 := math.Hypot(p[1]*g, p[2]), math.Hypot(q[1]*g, q[2])
	hue := func(a, b float64) float64 {
		if a == 0 && b == 0 {
			return 0
		}
		return math.Mod(math.Atan2(b, a)/rad+360, 360)
	}
	h1, h2 := hue(p[1]*g, p[2]), hue(q[1]*g, q[2])
	dh, hm := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, hm = 0, h1+h2
	case math.Abs(dh) > 180:
		dh -= math.Copysign(360, dh)
		if hm += 180; hm >= 360 {
			hm -= 360
		}
	}
	dl, dc, dH := q[0]-p[0], c2-c1, 2*math.Sqrt(c1*c2)*math.Sin(dh/2*rad)
	lm, cm := (p[0]+q[0])/2-50, (c1+c2)/2
	t := 1 - 0.17*math.Cos((hm-30)*rad) + 0.24*math.Cos(2*hm*rad) + 0.32*math.Cos((3*hm+6)*rad) - 0.20*math.Cos((4*hm-63)*rad)
	sl, sc, sh := 1+0.015*lm*lm/math.Sqrt(20+lm*lm), 1+0.045*cm, 1+0.015*cm*t
	c7 := math.Pow(cm, 7)
	rt := -2 * math.Sqrt(c7/(c7+far)) * math.Sin(60*math.Exp(-math.Pow((hm-275)/25, 2))*rad)
	l, c, h := dl/sl, dc/sc, dH/sh
	return math.Sqrt(l*l + c*c + h*h + rt*c*h)
}
