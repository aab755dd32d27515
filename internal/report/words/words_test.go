package words

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSay(t *testing.T) {
	d := New(map[string]string{"TTFT from due": "自计划的 TTFT", "note": "not this one"})
	for en, zh := range map[string]string{
		"":                                     "",
		"note":                                 "注意", // console.json wins
		"TTFT from due":                        "自计划的 TTFT",
		"no such sentence":                     "no such sentence",
		"1 check passed":                       "1 项检查通过",
		"17 checks passed":                     "17 项检查通过",
		"1 check passed; no such thing":        "1 项检查通过; no such thing",
		"1 check passed; not judged: slot":     "1 项检查通过；无从判断：slot",
		"closed loop · N 3 · no such thing":    "闭环 · N 3 · no such thing",
		"slot_wait: no due times: closed loop": "slot_wait：闭环，没有计划时刻",
		// What stands in a place is not looked up, unless the sentence says so.
		"status, for example: no rate; closed":               "status，例如：no rate; closed",
		"Load: closed loop":                                  "负载：闭环",
		"FIT FOR USE · 2 notes: window too small, a new one": "可用 · 2 条注意：窗口太小、a new one",
		// A place does not reach over the end of a sentence.
		"a; b could not be judged": "a; b 项无从判断",
		// Between Chinese and Latin there is a space, between Chinese none, whatever fills a place.
		"mean of TTFT (steady) needs about 40 more requests":         "TTFT 的均值（steady）约还需 40 个请求",
		"p95 of TTFT (steady) needs about 40 more requests":          "TTFT 的 p95（steady）约还需 40 个请求",
		"undecided whether B differs from A – undecided: e2e_ms.p50": "尚看不出 B 与 A 有无差别 – 待定指标：e2e_ms.p50",
		// A sentence may hold what parts others.
		"the server told no drafts and no verify steps → nothing": "服务端既没有报告草稿，也没有报告验证步 → 无",
		"pacer lag p99 after the start 3 ms is over 1 ms: sends were late, but what came was read in time: client wait p99 0.2 ms (limit 2 ms); client CPU 0.50 of 2 cores (limit 1.80)": "起始之后的发送滞后 p99 3 ms，超过 1 ms：发送迟到，但到达的字节读取及时：客户端等待 p99 0.2 ms（上限 2 ms）；客户端 CPU 用 0.50/2 核（上限 1.80）",
		"pacer lag p99 150 ms (limit 100 ms, the mean gap between sends, where bytes are read in time)":                                                                                  "发送滞后 p99 150 ms（字节读取及时，上限为平均发送间隔 100 ms）",
		// Braces of the text are no places.
		"{1} of tail": "尾部 {1}",
		"from, s":     "起（秒）",
		"a, b":        "a, b",
	} {
		if got := d.Say(en); got != zh {
			t.Errorf("%q: %q, want %q", en, got, zh)
		}
	}
}

// Both sides of every entry have the same places, and the Chinese is Chinese.
func TestEntries(t *testing.T) {
	all := map[string]string{}
	sum := 0
	for _, name := range console {
		var one map[string]string
		load(name, &one)
		sum += len(one)
		maps.Copy(all, one)
	}
	if sum != len(all) {
		t.Errorf("%d entries are in two files", sum-len(all))
	}
	number := regexp.MustCompile(`\{(\d)(:[a-z]+)?\}`)
	places := func(s string) (out []string) {
		for _, m := range number.FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	settings := regexp.MustCompile(`[a-z]+\.[a-z_.]+[a-z]|--[a-z-]+`)
	for en, zh := range all {
		if a, b := places(en), places(zh); !slices.Equal(a, b) || len(slices.Compact(slices.Clone(a))) != len(a) {
			t.Errorf("%q has the places %v, %q %v", en, a, zh, b)
		}
		if strings.Contains(zh, ":say}") || strings.Contains(zh, ":list}") || strings.Contains(zh, ":any}") || strings.Contains(zh, ":n}") || strings.Contains(zh, ":w}") {
			t.Errorf("%q: only the English says how a place is filled", zh)
		}
		if strings.TrimSpace(zh) != zh || zh == "" || strings.TrimSpace(en) != en {
			t.Errorf("%q: %q", en, zh)
		}
		for _, s := range settings.FindAllString(en, -1) {
			if !strings.Contains(zh, s) {
				t.Errorf("%q names %s, %q does not", en, s, zh)
			}
		}
	}
	for key, w := range Page() {
		if w[1] == "" {
			t.Errorf("%s: no Chinese", key)
		}
	}
}

// A text that is in no sentence of ours stays what it was, and nothing is lost of one
// that is in a place.
func TestAnyText(t *testing.T) {
	d := New(nil)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[A-Z0-9 ;:.,→·{}()-]{0,60}`).Draw(t, "text")
		if got := d.Say(s); strings.ContainsAny(s, "ABCDEFGHIJKLM") && got != s && !strings.Contains(s, "; ") && !strings.Contains(s, ". ") && !strings.Contains(s, ", ") {
			t.Fatalf("%q became %q", s, got)
		}
		x := rapid.String().Draw(t, "message")
		x = strings.NewReplacer("\n", "", "\r", "").Replace(x)
		if x == "" {
			return
		}
		if got, want := d.Say("status, for example: "+x), "status，例如："+x; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// Looking up stays quick for texts of any length.
func BenchmarkSay(b *testing.B) {
	d := New(nil)
	for name, text := range map[string]string{
		"line": "closed loop · N 320 · C 16 · achieved 14.74 requests/s · pacer lag p50 0.343, p99 2.074 ms · in flight mean 15.59, peak 16 · client CPU 0.0480 cores",
		"most": strings.Repeat("a message; of some server. that goes on, ", 97), "message": strings.Repeat("a message; of some server. that goes on, ", 25_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d.Say(text)
			}
		})
	}
}

func TestEnglish(t *testing.T) {
	for text, want := range map[string][]string{
		"TTFT 均值 12 ms，见 usage_missing":                        nil,
		"请设 target.api_key，例如 --api-key '${API_KEY}'":          nil,
		"3 of 8 requests were not issued":                      {"of", "requests", "were", "not", "issued"},
		"未观测到：no rate; closed loop":                            {"no", "rate", "closed", "loop"},
		"服务端 sim/model: done":                                  {"done"},
		"POST http://127.0.0.1:1/v1/chat?x=1 状态 503":           nil,
		"消息 a message of theirs":                               nil,
		"[1,234 bytes]":                                        {"bytes"},
		"tokentape explain checks.cache_state runs/x/2026-11Z": nil,
	} {
		if got := English(text, "a message of theirs"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
