package catalog

import (
	"errors"
	"slices"
	"testing"
	"unicode/utf8"
)

func TestEntries(t *testing.T) {
	type key struct {
		name string
		kind Kind
	}
	seen := map[key]bool{}
	for _, e := range All() {
		if seen[key{e.Name, e.Kind}] {
			t.Errorf("%s (%s) stands there twice", e.Name, e.Kind)
		}
		seen[key{e.Name, e.Kind}] = true
		if e.Definition == "" || e.Kind == "" {
			t.Errorf("%s is not defined", e.Name)
		}
		if e.Better != "" && e.Better != Lower && e.Better != Higher {
			t.Errorf("%s: better %q", e.Name, e.Better)
		}
		if e.Kind == KindMetric && (e.Unit == "" || e.Title == "" || len(e.Fields) == 0 || e.Enters == "") {
			t.Errorf("%s needs unit, title, fields and who enters", e.Name)
		}
		if (e.Kind == KindCheck) != (e.Severity != "") {
			t.Errorf("%s: severity %q", e.Name, e.Severity)
		}
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{
		"requests_per_s_per_16_devices": true, "requests_per_s_per_8_prefill_devices": true, "requests_per_s_per_0_devices": false,
		"requests_per_s_per_08_devices": false, "requests_per_s_per__devices": false, "requests_per_s_per_+8_devices": false,
		"counts.finish.length": true, "counts.finish.": false, "counts.finish": false, "counts.by_status.429": true, "counts.by_status.4xx": false, "counts.by_status.*": true, "counts.by_class.timeout": true, "counts.by_class.time_out": false, "requests_per_s_per_{n}_devices": true,
	} {
		if _, ok := Find(name); ok != want {
			t.Errorf("Find(%q) = %v", name, ok)
		}
	}
}

func TestParse(t *testing.T) {
	num := func(v float64) *float64 { return &v }
	yes := true
	for text, want := range map[string]Condition{
		"steady.ttft_ms.p95 < 2000":                     {Name: "ttft_ms", Kind: KindMetric, Window: "steady", Stat: "p95", Op: "<", Number: num(2000)},
		"whole.output_tokens_per_s>=4500":               {Name: "output_tokens_per_s", Kind: KindSystem, Window: "whole", Op: ">=", Number: num(4500)},
		"whole.output_tokens_per_s.p50 >= 4.5e1":        {Name: "output_tokens_per_s", Kind: KindMetric, Window: "whole", Stat: "p50", Op: ">=", Number: num(45)},
		"  counts.failed == 0  ":                        {Name: "counts.failed", Kind: KindCount, Op: "==", Number: num(0)},
		"counts.by_class.timeout <= 3":                  {Name: "counts.by_class.timeout", Kind: KindCount, Op: "<=", Number: num(3)},
		"verdict.fit == true":                           {Name: "verdict.fit", Kind: KindVerdict, Op: "==", Bool: &yes},
		"steady.median_service_times > 10":              {Name: "median_service_times", Kind: KindFact, Window: "steady", Op: ">", Number: num(10)},
		"steady.output_tokens_per_s_per_16_devices > 1": {Name: "output_tokens_per_s_per_16_devices", Kind: KindSystem, Window: "steady", Op: ">", Number: num(1)},
		"load.loop == closed":                           {Name: "load.loop", Kind: KindLoad, Op: "==", Word: "closed"},
		`load.loop != "partly open"`:                    {Name: "load.loop", Kind: KindLoad, Op: "!=", Word: "partly open"},
		"checks.repeats == pass":                        {Name: "checks.repeats", Kind: KindCheck, Op: "==", Word: "pass"},
		"checks.client_bound.value < 0.5":               {Name: "checks.client_bound", Kind: KindCheck, Stat: "value", Op: "<", Number: num(0.5)},
		"tokens.cached == 92160":                        {Name: "tokens.cached", Kind: KindRequest, Op: "==", Number: num(92160)},
		`finish == "max_new_tokens"`:                    {Name: "finish", Kind: KindRequest, Op: "==", Word: "max_new_tokens"},
		"http_status < 1000":                            {Name: "http_status", Kind: KindRequest, Op: "<", Number: num(1000)},
		"finish == length":                              {Name: "finish", Kind: KindRequest, Op: "==", Word: "length"},
		"tokens.output == asked.output":                 {Name: "tokens.output", Kind: KindRequest, Op: "==", Other: "asked.output"},
		"seconds:10..60.ttft_ms.p95 < 1":                {Name: "ttft_ms", Kind: KindMetric, Window: "seconds:10..60", Stat: "p95", Op: "<", Number: num(1)},
		"seconds:10...stream_end_ms.p95 < 1":            {Name: "stream_end_ms", Kind: KindMetric, Window: "seconds:10..", Stat: "p95", Op: "<", Number: num(1)},
		"seconds:0.5s..9.5s.requests_per_s > 1":         {Name: "requests_per_s", Kind: KindSystem, Window: "seconds:0.5s..9.5s", Op: ">", Number: num(1)},
		"rows:..99.requests_per_s > 1":                  {Name: "requests_per_s", Kind: KindSystem, Window: "rows:..99", Op: ">", Number: num(1)},
		"phase:warmup.requests == 8":                    {Name: "requests", Kind: KindFact, Window: "phase:warmup", Op: "==", Number: num(8)},
		"e2e_ms < 5000":                                 {Name: "e2e_ms", Kind: KindMetric, Op: "<", Number: num(5000)},
		"stable.slo_good_share >= .99":                  {Name: "slo_good_share", Kind: KindFact, Window: "stable", Op: ">=", Number: num(.99)},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Name != want.Name || got.Kind != want.Kind || got.Window != want.Window || got.Stat != want.Stat || got.Op != want.Op ||
			got.Word != want.Word || got.Other != want.Other || (got.Number == nil) != (want.Number == nil) || (got.Bool == nil) != (want.Bool == nil) ||
			got.Number != nil && *got.Number != *want.Number {
			t.Errorf("%s: %+v", text, got)
		}
		if got.PerRequest() != (want.Kind == KindRequest || want.Kind == KindMetric && want.Window == "") {
			t.Errorf("%s: per request %v", text, got.PerRequest())
		}
	}
}

func TestParseBad(t *testing.T) {
	for _, c := range []struct {
		text    string
		at      int
		message string
		known   string // one of Known
	}{
		{"", 0, "a name is needed first", ""},
		{"< 3", 0, "a name is needed first", ""},
		{"steady < 3", 0, "steady is a window, not a value", ""},
		{"stedy.ttft_ms.p95 < 3", 0, `"stedy.ttft_ms.p95" is no window, section or value of a request`, "steady"},
		{"steady.tttf_ms.p95 < 3", 7, `"tttf_ms" is no metric`, "ttft_ms"},
		{"steady.ttft_ms.p96 < 3", 15, `"p96" is no statistic`, "p95"},
		{"steady.ttft_ms < 3", 7, "which statistic of ttft_ms?", ""},
		{"steady.requests_per_s.p50 < 3", 21, "requests_per_s is one value, without statistics", ""},
		{"ttft_ms.p95 < 3", 0, "ttft_ms.p95 of which window?", ""},
		{"itl_ms < 3", 0, "itl_ms has many values in every request", ""},
		{"requests_per_s < 3", 0, "requests_per_s of which window?", ""},
		{"counts.fialed == 0", 0, `"counts.fialed" is no value of counts`, "counts.failed"},
		{"checks.clientbound == pass", 0, `"checks.clientbound" is no check`, "checks.client_bound"},
		{"checks.repeats == passed", 18, `"passed" is no result of a check`, "pass"},
		{"counts.failed = 0", 14, "a comparison is needed here", ""},
		{"counts.failed", 13, "counts.failed is compared with nothing", ""},
		{"counts.failed ==", 16, "counts.failed == is compared with nothing", ""},
		{`finish == ""`, 10, "finish == is compared with nothing", ""},
		{"counts.failed == none", 17, `"none" is not a number`, ""},
		{"steady.ttft_ms.p95 < 2s", 21, `"2s" is not a number`, ""},
		{"steady.ttft_ms.p95 < 0x10", 21, `"0x10" is not a number`, ""},
		{"steady.ttft_ms.p95 < NaN", 21, `"NaN" is not a number`, ""},
		{"steady.ttft_ms.p95 < 1e999", 21, `"1e999" is not a number`, ""},
		{"verdict.fit == 1", 15, `verdict.fit is true or false, never "1"`, ""},
		{"verdict.fit < true", 14, "verdict.fit has no order", ""},
		{"finish > length", 9, "finish has no order", ""},
		{"finish == two words", 10, `"two words" is not a word`, ""},
		{"tokens.output == asked.outptu", 17, `"asked.outptu" is no number and no value of a request`, "asked.output"},
		{"tokens.output == finish", 17, "finish is a word and tokens.output a number", ""},
		{"counts.by_class.* == 0", 0, "counts.by_class.* stands for several counts", ""},
		{"counts.by_class.time_out == 0", 0, `"counts.by_class.time_out" is no value of counts`, "counts.by_class.timeout"},
		{"counts.by_class.ok == 0", 0, `"counts.by_class.ok" is no value of counts`, ""},
		{"counts.by_status.4xx == 0", 0, `"counts.by_status.4xx" is no value of counts`, ""},
		{"counts.by_status.* == 0", 0, "counts.by_status.* stands for several counts", ""},
		{"counts.by_status.042 == 0", 0, `"counts.by_status.042" is no value of counts`, ""},
		{"counts.flags.* == 0", 0, "counts.flags.* stands for several counts", ""},
		{"counts.flags.bufered == 0", 0, `"counts.flags.bufered" is no value of counts`, "counts.flags.buffered"},
		{"counts.finish.lenght == 0", 0, `"counts.finish.lenght" is no value of counts`, "counts.finish.length"},
		{"outcome != oky", 11, `"oky" is no value of outcome`, "ok"},
		{"finish != lenght", 10, `"lenght" is no value of finish`, "length"},
		{`outcome != "oky"`, 11, `"oky" is no value of outcome`, "ok"},
		{"load.loop != half-open", 13, `"half-open" is no value of load.loop`, "partly open"},
		{"http_status != 2000", 15, "2000 is no status", ""},
		{"steady.requests_per_s_per_{n}_devices > 1", 7, "requests_per_s_per_{n}_devices stands for several rows", ""},
		{"  é.x < 1", 2, `"é.x" is no window, section or value of a request`, ""},
	} {
		_, err := Parse(c.text)
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if e.At != c.at || e.Message != c.message || c.known != "" && !slices.Contains(e.Known, c.known) {
			t.Errorf("%q: at %d %q", c.text, e.At, e.Message)
		}
		if e.Hint == "" && e.Known == nil {
			t.Errorf("%q: nothing mends it", c.text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"steady.ttft_ms.p95 < 2000", "tokens.output == asked.output", "finish == \"a b\"", "verdict.fit == true", "counts.by_class.timeout<=3", "x", "steady.requests_per_s_per_16_devices > 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.At < 0 || e.At > utf8.RuneCountInString(s) || e.Width < 1 || e.Message == "" {
				t.Fatalf("%q: %#v", s, err)
			}
			return
		}
		if _, ok := Find(c.Name, c.Kind); !ok {
			t.Fatalf("%q: accepted without a definition: %+v", s, c)
		}
		n := 0
		for _, set := range []bool{c.Number != nil, c.Bool != nil, c.Word != "", c.Other != ""} {
			if set {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%q: %+v", s, c)
		}
		again, err := Parse(c.Text)
		if err != nil || again.Name != c.Name || again.Op != c.Op {
			t.Fatalf("%q does not read back: %v", c.Text, err)
		}
	})
}

// What the report prints can be asked for as it is printed.
func TestAskPrintedNames(t *testing.T) {
	for word, want := range map[string]Condition{
		"TTFT": {Name: "ttft_ms", Kind: KindMetric}, "ttft": {Name: "ttft_ms", Kind: KindMetric}, "TPOT": {Name: "tpot_ms", Kind: KindMetric},
		"ITL": {Name: "itl_ms", Kind: KindMetric}, "E2E": {Name: "e2e_ms", Kind: KindMetric}, "TTFT from due": {Name: "ttft_from_due_ms", Kind: KindMetric},
		"E2E from due": {Name: "e2e_from_due_ms", Kind: KindMetric}, "slot wait": {Name: "slot_wait_ms", Kind: KindMetric}, "pacer lag": {Name: "pacer_lag_ms", Kind: KindMetric},
		"TTFT.p99": {Name: "ttft_ms", Kind: KindMetric, Stat: "p99"}, "steady.TTFT from due.p95": {Name: "ttft_from_due_ms", Kind: KindMetric, Stat: "p95", Window: "steady"},
		"output tok/s": {Name: "output_tokens_per_s", Kind: KindSystem}, "requests/s": {Name: "requests_per_s", Kind: KindSystem}, "steady.input tok/s": {Name: "input_tokens_per_s", Kind: KindSystem, Window: "steady"},
		"C": {Name: "load.concurrency", Kind: KindLoad}, "N": {Name: "load.requests", Kind: KindLoad}, "slot_wait": {Name: "checks.slot_wait", Kind: KindCheck},
		"release": {Name: "release", Kind: KindTerm}, "due": {Name: "due", Kind: KindTerm}, "slot": {Name: "slot", Kind: KindTerm}, "cohort": {Name: "cohort", Kind: KindTerm},
		"service time": {Name: "service time", Kind: KindTerm}, "Convention": {Name: "convention", Kind: KindTerm}, "token event": {Name: "token event", Kind: KindTerm},
		"open loop": {Name: "open loop", Kind: KindTerm}, "closed loop": {Name: "closed loop", Kind: KindTerm}, "running counts": {Name: "running counts", Kind: KindTerm},
		"inferred zeros": {Name: "inferred zero", Kind: KindTerm}, "no intervals": {Name: "no intervals", Kind: KindTerm}, "parts unlike": {Name: "no intervals", Kind: KindTerm}, "n_eff": {Name: "n_eff", Kind: KindTerm},
		"failed": {Name: "counts.failed", Kind: KindCount}, "client wait": {Name: "client wait", Kind: KindTerm}, "client_wait": {Name: "load.client_wait_p99_ms", Kind: KindLoad},
		"with the start": {Name: "start", Kind: KindTerm}, "pacer lag after the start": {Name: "start", Kind: KindTerm}, "buffered": {Name: "buffered", Kind: KindTerm},
	} {
		got, err := Ask(word)
		if err != nil || got.Name != want.Name || got.Kind != want.Kind || got.Stat != want.Stat || got.Window != want.Window {
			t.Errorf("%q: %+v, %v", word, got, err)
		}
	}
	for name := range called {
		if e, ok := Find(said(name)); !ok {
			t.Errorf("%q is called %q, which is nothing", name, e.Name)
		}
	}
	for _, no := range []string{"steady.release", "steady.cohort.p99", "tftt"} {
		if c, err := Ask(no); err == nil {
			t.Errorf("%q: %+v", no, c)
		}
	}
	if _, err := Parse("release < 3"); err == nil {
		t.Error("a word is taken for a value")
	}
}
