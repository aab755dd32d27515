package as

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

var update = flag.Bool("update", false, "write the generated part of docs/as.md")

// tpots are where each tool keeps the average of what it calls time per output
// token, or of what is nearest to it.
var tpots = []struct {
	tool, name, key string
	scale           float64 // to milliseconds
}{
	{"aisbench", "TPOT", "total.TPOT.Average", 1},
	{"vllm", "TPOT", "mean_tpot_ms", 1},
	{"sglang", "TPOT", "mean_tpot_ms", 1},
	{"aiperf", "Inter Token Latency", "inter_token_latency_avg", 1},
	{"guidellm", "TPOT", "time_per_output_token_ms_mean", 1},
	{"guidellm", "ITL", "inter_token_latency_ms_mean", 1},
	{"evalscope", "TPOT", "TPOT (ms)", 1},
	{"inference-perf", "time_per_output_token", "successes.latency.time_per_output_token.mean", 1000},
}

// odd is a run in which much is told apart that a simple one hides: a server that
// flushes the role chunk at once, four tokens an event, usage 15 ms after the last
// token, an answer that stops early, one of a single token, and one that fails.
func odd() []*tape.Request {
	var reqs []*tape.Request
	answer := func(at, prefill int64, out, asked int64) {
		var b strings.Builder
		fmt.Fprintf(&b, "r@%d ", at+2)
		now := at + prefill
		for sent := int64(0); sent < out; sent += 4 {
			fmt.Fprintf(&b, "c@%d ", now)
			now += 40
		}
		now -= 40
		fmt.Fprintf(&b, "f@%d u@%d d@%d", now, now+15, now+16)
		reqs = append(reqs, request(at, now+17, b.String(), usage(512, out, asked)))
	}
	answer(0, 400, 64, 64)
	answer(0, 480, 64, 64)
	answer(250, 300, 20, 64)
	answer(900, 350, 1, 64)
	reqs = append(reqs, request(950, 960, "", outcome(tape.OutcomeStatus, 503)))
	return reqs
}

const (
	beginMark = "<!-- generated: go test ./internal/analysis/as -update -->"
	endMark   = "<!-- end -->"
	doc       = "../../../docs/as.md"
)

// One tape under every definition: the table in docs/as.md is what the code says.
func TestSpread(t *testing.T) {
	spec := `{"target":{"api":"openai-chat"},"workload":{"stream":true},"load":{"requests":5,"concurrency":3}}`
	r := load(t, spec, odd()...)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", beginMark)
	fmt.Fprintln(&b, "| by the definitions of | which calls it | mean, ms | TTFT, ms | output tokens |\n|---|---|---:|---:|---:|")
	own, ttft, out := ownTPOT()
	fmt.Fprintf(&b, "| tokentape | TPOT | %.2f | %.2f | %d |\n", own, ttft, out)
	low, high := own, own
	for _, c := range tpots {
		tab, err := Make(c.tool, r)
		if err != nil {
			t.Fatal(err)
		}
		v := tab.Values[c.key]
		if v == nil {
			t.Fatalf("%s has no value %q", c.tool, c.key)
		}
		x := *v * c.scale
		low, high = min(low, x), max(high, x)
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s | %s |\n", c.tool, c.name, x, other(tab, 1, ttfts[c.tool]), other(tab, 0, outputs[c.tool]))
	}
	fmt.Fprintf(&b, "\nThe largest is %.1f times the smallest.\n\n%s", high/low, endMark)
	if high/low < 2 {
		t.Errorf("the run tells the definitions no further apart than %.2f to %.2f", low, high)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(beginMark))
	_, tail, closed := bytes.Cut(rest, []byte(endMark))
	if !ok || !closed {
		t.Fatalf("%s has no place for the table: %s … %s", doc, beginMark, endMark)
	}
	want := string(head) + b.String() + string(tail)
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is behind the code; -update writes:\n%s", doc, b.String())
	}
}

// ttfts and outputs are the keys of the mean TTFT and of the output tokens; a key
// that ends in * is to be multiplied by 1000.
var (
	ttfts = map[string]string{
		"aisbench": "total.TTFT.Average", "vllm": "mean_ttft_ms", "sglang": "mean_ttft_ms", "aiperf": "time_to_first_token_avg",
		"guidellm": "time_to_first_token_ms_mean", "evalscope": "TTFT (ms)", "inference-perf": "successes.latency.time_to_first_token.mean*",
	}
	outputs = map[string]string{
		"aisbench": "total.Total Generated Tokens", "vllm": "total_output_tokens", "sglang": "total_output_tokens", "guidellm": "output_tokens_successful",
	}
)

// other prints the value with the key, as ttfts and outputs name it.
func other(t *Table, decimals int, key string) string {
	name, seconds := strings.CutSuffix(key, "*")
	v := t.Values[name]
	if v == nil {
		return ""
	}
	x := *v
	if seconds {
		x *= 1000
	}
	if decimals == 0 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// ownTPOT is the mean TPOT and TTFT and the output of the same requests by our own
// definitions.
func ownTPOT() (tpot, ttft float64, out int64) {
	var n, m float64
	var arena metric.Arena
	for _, q := range odd() {
		red := metric.Reduce(q, &arena)
		if !red.OK {
			continue
		}
		out += red.Output
		if v, ok := red.TPOT(); ok {
			tpot += v / 1e6
			n++
		}
		if v, ok := red.TTFT(); ok {
			ttft += float64(v) / 1e6
			m++
		}
	}
	return tpot / n, ttft / m, out
}
