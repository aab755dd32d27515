package frame

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gosse "github.com/tmaxmax/go-sse"
)

// got is one event, with its completing byte counted from the body's start.
type got struct {
	Name, Payload string
	At            int
}

// run frames body, cut into chunks by next (which is given what is left and
// returns the length of the next chunk). Each chunk is overwritten after use, so
// that a payload kept too long shows.
func run(t testing.TB, f Framer, body string, next func(left int) int) ([]got, int, error) {
	t.Helper()
	var out []got
	drain := func(base int) error {
		for {
			ev, ok, err := f.Next()
			if err != nil || !ok {
				return err
			}
			at := -1
			if ev.At >= 0 {
				at = base + ev.At
			}
			out = append(out, got{ev.Name, string(ev.Payload), at})
		}
	}
	for base := 0; base < len(body); {
		n := max(1, min(next(len(body)-base), len(body)-base))
		chunk := []byte(body[base : base+n])
		f.Feed(chunk)
		if err := drain(base); err != nil {
			return out, f.Partial(), err
		}
		for i := range chunk {
			chunk[i] = '#'
		}
		base += n
	}
	f.End()
	err := drain(0)
	return out, f.Partial(), err
}

func allAtOnce(left int) int { return left }
func bytewise(int) int       { return 1 }

func TestSSE(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for _, c := range []struct {
		name, body string
		want       []got
		partial    int
	}{
		{"lf", "data: a\n\ndata: b\n\n", []got{{"", "a", 8}, {"", "b", 17}}, 0},
		{"no space", "data:a\n\n", []got{{"", "a", 7}}, 0},
		{"second space is payload", "data:  a\n\n", []got{{"", " a", 9}}, 0},
		{"crlf completes at the second cr", "data: a\r\n\r\ndata: b\r\n\r\n", []got{{"", "a", 9}, {"", "b", 20}}, 0},
		{"cr completes at the second cr", "data: a\r\rdata: b\r\r", []got{{"", "a", 8}, {"", "b", 17}}, 0},
		{"mixture", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\n\r", []got{{"", "a", 9}, {"", "b", 18}, {"", "c", 28}, {"", "d", 38}}, 0},
		{"lines are joined", "data: a\ndata:\ndata:   b\n\n", []got{{"", "a\n\n  b", 24}}, 0},
		{"comments and unknown fields", ":\n\n: x\n:ping\nid: 7\nretry: 3\nx-trace: y\nnocolon\ndata: a\n\n", []got{{"", "a", 55}}, 0},
		{"names", "event: error\ndata: a\n\nevent:x y\ndata: b\n\ndata: c\n\n", []got{{"error", "a", 21}, {"x y", "b", 40}, {"", "c", 49}}, 0},
		{"a name without data is forgotten", "event: error\n\ndata: a\n\n", []got{{"", "a", 22}}, 0},
		{"empty data is an event", "data\n\ndata:\n\n", []got{{"", "", 5}, {"", "", 12}}, 0},
		{"mark at the start", "\xEF\xBB\xBFdata: a\n\n", []got{{"", "a", 11}}, 0},
		{"mark later is content", "data: \xEF\xBB\xBF\n\n\xEF\xBB\xBFdata: a\n\n", []got{{"", "\xEF\xBB\xBF", 10}}, 0},
		{"half a mark is a field name", "\xEF\xBBdata: a\n\n", nil, 0},
		{"only half a mark", "\xEF\xBB", nil, 2},
		{"unfinished", "data: a\n\ndata: b\n", []got{{"", "a", 8}}, 1},
		{"unfinished line", "data: a\n\ndata: b", []got{{"", "a", 8}}, 7},
		{"long", "data: " + long + "\n\n", []got{{"", long, 70_007}}, 0},
	} {
		for split, next := range map[string]func(int) int{"whole": allAtOnce, "bytes": bytewise, "threes": func(int) int { return 3 }} {
			events, partial, err := run(t, New(SSE, Max), c.body, next)
			if err != nil || partial != c.partial {
				t.Errorf("%s, %s: partial %d, error %v; want %d", c.name, split, partial, err, c.partial)
			}
			if d := cmp.Diff(c.want, events); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, split, d)
			}
		}
	}
}

func TestLines(t *testing.T) {
	for _, next := range []func(int) int{allAtOnce, bytewise} {
		events, partial, err := run(t, New(NDJSON, Max), "{\"a\":1}\r\n\n {\"b\":2}\n\n{\"c\":3}", next)
		want := []got{{"", `{"a":1}`, 8}, {"", `{"b":2}`, 18}, {"", `{"c":3}`, -1}}
		if d := cmp.Diff(want, events); d != "" || err != nil || partial != 0 {
			t.Errorf("partial %d, error %v (-want +got):\n%s", partial, err, d)
		}
	}
}

func TestWhole(t *testing.T) {
	for _, next := range []func(int) int{allAtOnce, bytewise} {
		events, _, err := run(t, New(JSON, Max), " {\"a\":\n1}\n", next)
		if d := cmp.Diff([]got{{"", "{\"a\":\n1}", -1}}, events); d != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, d)
		}
	}
	if events, _, err := run(t, New(JSON, Max), " \n", allAtOnce); len(events) > 0 || err != nil {
		t.Errorf("an empty body gave %v, %v", events, err)
	}
}

func TestLimit(t *testing.T) {
	for kind, body := range map[Kind]string{
		SSE:    "data: ok\n\ndata: " + strings.Repeat("x", 200) + "\n\n",
		NDJSON: "{}\n\"" + strings.Repeat("x", 200) + "\"\n",
		JSON:   "\"" + strings.Repeat("x", 200) + "\"",
	} {
		for _, next := range []func(int) int{allAtOnce, bytewise} {
			f := New(kind, 100)
			events, partial, err := run(t, f, body, next)
			var large *TooLargeError
			if !errors.As(err, &large) || large.Limit != 100 || !strings.Contains(err.Error(), "100 bytes") {
				t.Errorf("kind %d: error %v", kind, err)
			}
			if want := 1; kind != JSON && len(events) != want {
				t.Errorf("kind %d: %d events before the error, want %d", kind, len(events), want)
			}
			if partial > 100 {
				t.Errorf("kind %d: %d bytes held, over the limit", kind, partial)
			}
			if f.Feed([]byte("data: a\n\n{}\n")); kind != JSON {
				if _, ok, again := f.Next(); ok || again == nil {
					t.Errorf("kind %d: the error did not stay", kind)
				}
			}
			f.Reset()
			if events, _, err := run(t, f, map[Kind]string{SSE: "data: 1\n\n", NDJSON: "1\n", JSON: "1"}[kind], allAtOnce); err != nil || len(events) != 1 {
				t.Errorf("kind %d after Reset: %v, %v", kind, events, err)
			}
		}
	}
}

// naive is the standard's algorithm over a whole body, one byte at a time.
func naive(body string) []got {
	var out []got
	var line, data, name string
	var lastCR bool
	i := 0
	if strings.HasPrefix(body, mark) {
		i = len(mark)
	}
	for ; i < len(body); i++ {
		c := body[i]
		if lastCR && c == '\n' {
			lastCR = false
			continue
		}
		lastCR = c == '\r'
		if c != '\n' && c != '\r' {
			line += string([]byte{c})
			continue
		}
		if line == "" {
			if data != "" {
				out = append(out, got{name, strings.TrimSuffix(data, "\n"), i})
			}
			data, name = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data += value + "\n"
		case "event":
			name = value
		}
		line = ""
	}
	return out
}

func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: a\r\n\r\ndata: b\r\rdata: c\n\n", "\xEF\xBB\xBFdata:a\n\n", "\n\xEF\xBB\xBFdata:a\n\n", ":x\n\nevent: error\ndata: {}\n\n", "data\n\ndata:\r\r\n\ndata:\n", "\r\n\r\rdata:  x\ndata: y\r\n\n",
	} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		want := naive(body)
		fr := New(SSE, Max)
		rnd := rand.New(rand.NewPCG(seed, 0))
		lost := -1
		for name, next := range map[string]func(int) int{"whole": allAtOnce, "bytes": bytewise, "random": func(left int) int { return 1 + rnd.IntN(left) }} {
			fr.Reset()
			events, partial, err := run(t, fr, body, next)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, events); d != "" {
				t.Fatalf("%s split of %q (-want +got):\n%s", name, body, d)
			}
			if lost >= 0 && partial != lost {
				t.Fatalf("%s split of %q: %d bytes lost, %d in another split", name, body, partial, lost)
			}
			lost = partial
		}
		second(t, body, want)
	})
}

// second asks another implementation. It also gives events without data (the
// standard does not), so empty ones are left to naive.
func second(t *testing.T, body string, want []got) {
	t.Helper()
	const bom = "\xEF\xBB\xBF"
	if strings.Contains(strings.TrimPrefix(body, bom), bom) {
		return // it takes one off behind blank lines, too, where to the standard it is part of a name
	}
	var theirs []got
	for ev, err := range gosse.Read(strings.NewReader(body), &gosse.ReadConfig{MaxEventSize: Max}) {
		if err != nil {
			t.Skip(err)
		}
		if ev.Data != "" {
			theirs = append(theirs, got{Name: ev.Type, Payload: ev.Data})
		}
	}
	var ours []got
	for _, g := range want {
		if g.Payload != "" {
			ours = append(ours, got{Name: g.Name, Payload: g.Payload})
		}
	}
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Fatalf("go-sse reads %q otherwise (-theirs +ours):\n%s", body, d)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("{}\n[1]\r\n\n 2", uint64(1))
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		var want []string
		for line := range strings.SplitSeq(body, "\n") {
			if line = strings.Trim(line, space); line != "" {
				want = append(want, line)
			}
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		for _, next := range []func(int) int{allAtOnce, bytewise, func(left int) int { return 1 + rnd.IntN(left) }} {
			events, _, err := run(t, New(NDJSON, Max), body, next)
			var lines []string
			for _, g := range events {
				lines = append(lines, g.Payload)
			}
			if d := cmp.Diff(want, lines); d != "" || err != nil {
				t.Fatalf("%v (-want +got):\n%s", err, d)
			}
		}
	})
}

func BenchmarkSSE(b *testing.B) {
	event := `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	for _, split := range []int{0, 100} {
		b.Run(fmt.Sprintf("split=%d", split), func(b *testing.B) {
			body := []byte(strings.Repeat(event, 50))
			f := New(SSE, Max)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				f.Reset()
				for rest := body; len(rest) > 0; {
					n := len(rest)
					if split > 0 {
						n = min(n, split)
					}
					f.Feed(rest[:n])
					for {
						_, ok, err := f.Next()
						if err != nil {
							b.Fatal(err)
						}
						if !ok {
							break
						}
						events++
					}
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}

// A large event is held once, not once as a line and once as data.
func TestLargeEventIsHeldOnce(t *testing.T) {
	const size = 16 << 20
	f := newSSE(Max)
	if events, _, err := run(t, f, "data: "+strings.Repeat("x", size)+"\n\ndata: b\n\n", func(int) int { return 32 << 10 }); err != nil || len(events) != 2 || len(events[0].Payload) != size || events[1].Payload != "b" {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if held := cap(f.line) + cap(f.data); held > size*3/2 {
		t.Errorf("%d bytes held for an event of %d", held, size)
	}
}
