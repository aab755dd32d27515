package analysis

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// tenSeconds is a closed loop of 10 requests of 1 s, 100 in and 5 out each; the
// whole window is 10 s long.
func tenSeconds(spec string) *script {
	s := &script{reason: tape.ReasonCompleted, plan: 10, spec: spec}
	for i := range int64(10) {
		q := ok(i, i*1000*msec, 200*msec, 400*msec, 600*msec, 800*msec, 1000*msec)
		q.Asked.Cached = tape.Some[int64](90)
		q.Tokens.Cached = tape.Some[int64](80)
		s.reqs = append(s.reqs, q)
	}
	return s
}

func TestPerDevice(t *testing.T) {
	w := windowOf(t, tenSeconds(`{"load":{"concurrency":1},"devices":{"total":10,"prefill":8,"decode":2}}`).analyse(t, Options{}), "whole")
	for name, v := range map[string]string{
		"requests_per_s_per_10_devices":                            "0.1000",
		"output_tokens_per_s_per_10_devices":                       "0.5000",
		"input_tokens_per_s_per_10_devices":                        "10.0000",
		"total_tokens_per_s_per_10_devices":                        "10.5000",
		"nominal_cached_input_tokens_per_s_per_10_devices":         "9.0000",
		"observed_cached_input_tokens_per_s_per_10_devices":        "8.0000",
		"requests_per_s_per_8_prefill_devices":                     "0.1250",
		"input_tokens_per_s_per_8_prefill_devices":                 "12.5000",
		"nominal_cached_input_tokens_per_s_per_8_prefill_devices":  "11.2500",
		"observed_cached_input_tokens_per_s_per_8_prefill_devices": "10.0000",
		"requests_per_s_per_2_decode_devices":                      "0.5000",
		"output_tokens_per_s_per_2_decode_devices":                 "2.5000",
	} {
		want(t, name, w.System.PerDevices[name], 4, v)
	}
	if n := len(w.System.PerDevices); n != 12 {
		t.Errorf("%d rows per device, 12 are defined: %v", n, w.System.PerDevices)
	}
	// What nobody planned is no row; what no server reported neither.
	s := tenSeconds(`{"load":{"concurrency":1},"devices":{"total":10}}`)
	for _, q := range s.reqs {
		q.Asked.Cached, q.Tokens.Cached = tape.Opt[int64]{}, tape.Opt[int64]{}
	}
	if w := windowOf(t, s.analyse(t, Options{}), "whole"); len(w.System.PerDevices) != 4 {
		t.Errorf("%v", w.System.PerDevices)
	}
}

func TestCost(t *testing.T) {
	for spec, per := range map[string]float64{
		`{"load":{"concurrency":1},"devices":{"total":4},"cost":{"per_device_hour":9,"currency":"USD"}}`: 36,
		`{"load":{"concurrency":1},"cost":{"per_hour":36}}`:                                              36,
	} {
		res := tenSeconds(spec).analyse(t, Options{})
		w := windowOf(t, res, "whole")
		want(t, "an hour", w.System.Cost["cost_per_hour"], 2, fmt.Sprintf("%.2f", per))
		want(t, "output", w.System.Cost["cost_per_million_output_tokens"], 2, "2000.00") // 0.01 a second ÷ 5 tokens a second
		want(t, "input", w.System.Cost["cost_per_million_input_tokens"], 2, "100.00")
		want(t, "all", w.System.Cost["cost_per_million_tokens"], 2, "95.24")
		want(t, "a request", w.System.Cost["cost_per_request"], 4, "0.0100")
		if res.About.Price == "" {
			t.Error("nothing says how the price is made up")
		}
	}
	s := tenSeconds(`{"load":{"concurrency":1},"cost":{"per_hour":36}}`)
	for _, q := range s.reqs {
		q.Tokens = tape.Tokens{}
	}
	if w := windowOf(t, s.analyse(t, Options{}), "whole"); w.System.Cost["cost_per_million_output_tokens"] != nil || w.System.Cost["cost_per_request"] == nil {
		t.Errorf("%v", w.System.Cost)
	}
}

// The interval of a cost is that of its rate, turned over.
func TestCostInterval(t *testing.T) {
	s := richOf(400)
	s.spec = strings.Replace(s.spec, `"devices"`, `"cost":{"per_hour":36},"devices"`, 1)
	w := windowOf(t, s.analyse(t, Options{}), "steady")
	rate, ok := w.System.CI["output_tokens_per_s"]
	got, ok2 := w.System.CI["cost_per_million_output_tokens"]
	if !ok || !ok2 {
		t.Fatalf("%v", w.System.CI)
	}
	if lo, hi := 1e4 / *rate[1], 1e4 / *rate[0]; math.Abs(*got[0]-lo) > 1e-9*lo || math.Abs(*got[1]-hi) > 1e-9*hi {
		t.Errorf("%v … %v, want %v … %v", *got[0], *got[1], lo, hi)
	}
}

// at is the script's t = 0 by the wall clock.
var at = time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)

func power(t *testing.T, lines ...string) *Power {
	t.Helper()
	p, err := ReadPower(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEnergy(t *testing.T) {
	w := windowOf(t, tenSeconds(`{"load":{"concurrency":1},"energy":{"watts":100}}`).analyse(t, Options{}), "whole")
	want(t, "energy", w.System.Energy["energy_j"], 3, "1000.000")
	want(t, "an output token", w.System.Energy["joules_per_output_token"], 3, "20.000")
	want(t, "a token", w.System.Energy["joules_per_token"], 3, "0.952")
	want(t, "a request", w.System.Energy["joules_per_request"], 3, "100.000")

	// A ramp from 0 W one second before t = 0 to 1200 W one second after the end:
	// 100 W at 0, 1100 W at 10 s; both ways to write a time.
	for _, p := range []*Power{
		power(t, "time,watts", "2026-11-30T03:59:59Z,0", "2026-11-30T05:00:03+01:00,400", "2026-11-30T04:00:07.000Z,800", "2026-11-30T04:00:11Z,1200"),
		power(t, fmt.Sprintf("%d,0", at.Unix()-1), fmt.Sprintf("%d.0, 400", at.Unix()+3), fmt.Sprintf("%d,800", at.Unix()+7), fmt.Sprintf("%d,1200", at.Unix()+11)),
	} {
		w = windowOf(t, tenSeconds(`{"load":{"concurrency":1}}`).analyse(t, Options{Power: p}), "whole")
		want(t, "mean power", w.System.Energy["power_mean_w"], 3, "600.000")
		want(t, "energy", w.System.Energy["energy_j"], 3, "6000.000")
	}
	for warning, p := range map[string]*Power{
		"it is not covered":       power(t, "2026-11-30T04:00:01Z,1", "2026-11-30T04:00:20Z,1"),
		"says nothing for 11.0 s": power(t, "2026-11-30T04:00:00Z,1", "2026-11-30T04:00:11Z,1"),
	} {
		w := windowOf(t, tenSeconds(`{"load":{"concurrency":1}}`).analyse(t, Options{Power: p}), "whole")
		if w.System.Energy != nil || !strings.Contains(strings.Join(w.Warnings, "\n"), warning) {
			t.Errorf("%v %q", w.System.Energy, w.Warnings)
		}
	}
}

func TestPowerRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                     "0 samples",
		"time,watts\n":                         "0 samples",
		"time,amps\n":                          "it must be watts",
		"1764475200,1":                         "1 samples",
		"1764475200,1\n1764475201,x":           `line 2: "x" is no number of watts`,
		"1764475200,1\n1764475201,NaN":         "no number of watts",
		"1764475200,1\n1764475201,-3":          "below 0",
		"1764475200,1\n1764475201,1e12":        "the column is watts",
		"1764475200,1\n1764475200,1":           "added up",
		"1764475200,1\n1764475199,1":           "comes before",
		"1764475200000,1":                      "milliseconds",
		"12,1":                                 "are not Unix seconds",
		"2026-11-30 04:00:00,1":                "with a zone",
		"0001-01-01T00:00:00Z,1":               "cannot be that of a run",
		"1764475200,1,2":                       "3 columns",
		"\"1764475200,1":                       "not CSV",
		"time,watts\n1764475200,1\ntime,watts": `line 3: "time" is no time`,
	} {
		if _, err := ReadPower(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %s", text, err, why)
		}
	}
}

// The energy of two halves is that of the whole, wherever it is cut.
func TestEnergyAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Power{}
		when := at.UnixNano()
		for range rapid.IntRange(5, 30).Draw(t, "samples") {
			p.at, p.watts = append(p.at, when), append(p.watts, rapid.Float64Range(0, 1e4).Draw(t, "watts"))
			when += rapid.Int64Range(1, 4e9).Draw(t, "step")
		}
		end := p.at[len(p.at)-1] - at.UnixNano()
		cut := rapid.Int64Range(0, end).Draw(t, "cut")
		r := &run{header: &tape.Header{Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z"}}}
		joules := func(from, to int64) float64 {
			if from == to {
				return 0
			}
			v, err := r.meanPower(p, window.Interval{From: from, To: to})
			if err != nil {
				t.Fatal(err)
			}
			return v * float64(to-from) / 1e9
		}
		whole, parts := joules(0, end), joules(0, cut)+joules(cut, end)
		if math.Abs(whole-parts) > 1e-6*(1+whole) {
			t.Errorf("%v, in parts %v", whole, parts)
		}
	})
}

func FuzzReadPower(f *testing.F) {
	f.Add([]byte("time,watts\n2026-11-30T04:00:00Z,1\n1764475299,2\n"))
	f.Add([]byte("\xef\xbb\xbf1764475200 , 1\r\n1764475201,2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPower(bytes.NewReader(b))
		if err != nil {
			return
		}
		for i := range p.at {
			if i > 0 && p.at[i] <= p.at[i-1] || !(p.watts[i] >= 0 && p.watts[i] <= maxWatts) {
				t.Fatalf("%v %v", p.at, p.watts)
			}
		}
	})
}
