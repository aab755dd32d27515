package tape

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// One operation is one request; ns/event is what 100,000 × 4096 events live on.
const benchTokens = 1024

func perEvent(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name     string
		compress bool
	}{{"plain", false}, {"zstd", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var n counter
			w := NewWriter(&n, c.compress)
			_ = w.Write(&Header{})
			var pool [64]*Request
			for i := range pool {
				pool[i] = stream(int64(i), benchTokens)
			}
			r, i := pool[0], 0
			for b.Loop() {
				if err := w.Write(pool[i%len(pool)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			_ = w.Close()
			perEvent(b, len(r.Events.DT))
			b.ReportMetric(float64(n)/float64(b.N)/float64(len(r.Events.DT)), "bytes/event")
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name     string
		compress bool
		tokens   int
	}{{"plain", false, benchTokens}, {"zstd", true, benchTokens}, {"zstd-32-tokens", true, 32}} {
		b.Run(c.name, func(b *testing.B) {
			const requests = 200
			var buf bytes.Buffer
			w := NewWriter(&buf, c.compress)
			_ = w.Write(&Header{})
			for i := range int64(requests) {
				_ = w.Write(stream(i, c.tokens))
			}
			_ = w.Write(&Footer{})
			_ = w.Close()
			events := len(stream(0, c.tokens).Events.DT)
			tape := buf.Bytes()
			r := NewReader(bytes.NewReader(tape))
			left := 0
			b.ReportAllocs()
			for b.Loop() {
				if left == 0 {
					r = NewReader(bytes.NewReader(tape))
					left = requests + 2
				}
				rec, err := r.Next()
				if err != nil {
					b.Fatal(err)
				}
				if f, ok := rec.(*Fault); ok {
					b.Fatal(f)
				}
				left--
			}
			perEvent(b, events)
			if _, err := r.Next(); err != nil && err != io.EOF {
				b.Fatal(err)
			}
		})
	}
}

// What the hand-written ways are worth against encoding/json, without zstd.
func BenchmarkRequestCodec(b *testing.B) {
	r := stream(1, benchTokens)
	line := appendRequest(nil, r)
	b.Run("encode", func(b *testing.B) {
		buf := make([]byte, 0, len(line))
		for b.Loop() {
			buf = appendRequest(buf[:0], r)
		}
		perEvent(b, len(r.Events.DT))
	})
	b.Run("encode-encoding/json", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(r)
		}
		perEvent(b, len(r.Events.DT))
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, _ = decodeRequest(line)
		}
		perEvent(b, len(r.Events.DT))
	})
	b.Run("decode-encoding/json", func(b *testing.B) {
		for b.Loop() {
			var v Request
			_ = json.Unmarshal(line, &v)
		}
		perEvent(b, len(r.Events.DT))
	})
}
