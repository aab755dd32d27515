package exchange

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/internal/workload"
)

// BenchmarkChunk is all that happens between a stamped read and the next one,
// with one event a read, as most streams are: events differ by their text alone.
func BenchmarkChunk(b *testing.B) {
	benchChunk(b, e(c(" word")), e(c("s")))
}

// BenchmarkChunkUnlike is the same where an event is never like the one before.
func BenchmarkChunkUnlike(b *testing.B) {
	benchChunk(b, e(c(" word")), strings.Replace(e(c("s")), "data: {", `data: {"created":1,`, 1))
}

func benchChunk(b *testing.B, texts ...string) {
	var events [][]byte
	for _, text := range texts {
		events = append(events, []byte(text))
	}
	ex := New(Config{Dialect: mustChat(b), Options: dialect.Options{Stream: true}})
	x := newFlight(ex)
	x.reset()
	marks := make([]client.Mark, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			x.reset()
		}
		event := events[i%len(events)]
		marks[0] = client.Mark{N: len(event), T: marks[0].T + 10_000_000}
		if done, err := x.chunk(event, marks, true); done || err != nil {
			b.Fatal(done, err)
		}
	}
}

// The read path keeps nothing but its events.
func TestChunkDoesNotAllocate(t *testing.T) {
	ex := New(Config{Dialect: mustChat(t), Options: dialect.Options{Stream: true}})
	x := newFlight(ex)
	event := []byte(strings.Repeat(e(c(" word")), 3))
	marks := []client.Mark{{N: len(event), T: 1}}
	warm := func() {
		x.reset()
		for range 300 {
			if _, err := x.chunk(event, marks, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	warm()
	x.reset()
	if _, err := x.chunk(event, marks, true); err != nil { // makes the hash of its choice
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(200, func() { _, _ = x.chunk(event, marks, true) }); n > 0 {
		t.Errorf("%v allocations a read", n)
	}
}

// BenchmarkQuote is what a refusal costs beside its body: a search through what was
// sent, here 70 kB, so that nothing of it is quoted.
func BenchmarkQuote(b *testing.B) {
	ex := New(Config{Dialect: mustChat(b), Options: dialect.Options{Stream: true}})
	x := newFlight(ex)
	x.reset()
	x.head = []byte(`{"error":{"message":"too many requests in the queue, try again later","type":"overloaded","code":429}}`)
	x.request = []byte(strings.Repeat("what is the time of day in that town ", 70_000/37))
	b.ReportAllocs()
	for b.Loop() {
		if len(x.quote()) != len(x.head) {
			b.Fatal(x.quote())
		}
	}
}

// BenchmarkPrepare is the making of a body, which happens ahead of the send: of a
// short question, and of 131,072 tokens.
func BenchmarkPrepare(b *testing.B) {
	long := strings.Repeat("word ", 1<<17)
	for _, prompt := range []string{"What is the time of day in that town?", long, "« " + long} {
		b.Run(fmt.Sprint("bytes=", len(prompt)), func(b *testing.B) {
			ex := New(Config{Dialect: mustChat(b), Options: dialect.Options{Model: "m", Stream: true, OutputLen: 256, Sampling: map[string]any{"ignore_eos": true, "temperature": 0.0}}})
			b.SetBytes(int64(len(prompt)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ex.Prepare(workload.Item{Prompt: prompt}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
