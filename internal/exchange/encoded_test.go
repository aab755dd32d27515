package exchange

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tokentape/tape"
)

// compressor is what the three codings have in common.
type compressor interface {
	io.Writer
	Flush() error
	Close() error
}

func compress(coding string, w io.Writer) compressor {
	switch coding {
	case "zstd":
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		return z
	case "deflate":
		return zlib.NewWriter(w)
	}
	return gzip.NewWriter(w)
}

// A22: a compressed stream nobody asked for: every event has the time of the read
// that completed it, flushed by the server or held back, in whatever segments.
func TestCompressed(t *testing.T) {
	events := []struct {
		t    int64
		data string
	}{{100, e(c("a"))}, {150, e(c("b"))}, {200, e(fin("stop")) + done}}
	for _, coding := range []string{"gzip", "x-gzip", "deflate", "zstd"} {
		for _, name := range []string{"each", "end", "bytewise", "cut", "corrupt", "plain"} {
			t.Run(coding+" "+name, func(t *testing.T) {
				var out bytes.Buffer
				z := compress(strings.TrimPrefix(coding, "x-"), &out)
				var steps []step
				for i, ev := range events {
					io.WriteString(z, ev.data)
					if name != "end" {
						z.Flush()
					}
					if i == len(events)-1 && name != "cut" {
						z.Close()
					}
					data := out.String()
					out.Reset()
					switch {
					case name == "plain":
						steps = append(steps, at(ev.t, ev.data))
					case name == "corrupt" && i == 1:
						steps = append(steps, at(ev.t, strings.Repeat("\xff", 40)))
					case name == "bytewise":
						for j := range len(data) { // the last byte at the event's time
							steps = append(steps, step{t: ev.t, data: data[j : j+1]})
						}
					case data != "":
						steps = append(steps, at(ev.t, data))
					}
					if name == "cut" && i == 1 {
						break
					}
				}
				head := strings.Replace(head, "\r\n\r\n", "\r\nContent-Encoding: "+strings.ToUpper(coding)+"\r\n\r\n", 1)
				w := want{kinds: "c2 f d", ttft: 100, ttfo: 100, e2e: 150, end: 200, itl: []float64{50}, text: "ab", input: -1, output: 2, finish: "stop", flags: []string{FlagCompressed}}
				switch name {
				case "end":
					w.ttft, w.ttfo, w.e2e, w.itl = 200, 200, 200, []float64{0}
				case "plain":
					w.flags = nil
				case "cut":
					w.outcome, w.kinds, w.finish, w.message = tape.OutcomeTruncated, "c2", "", []string{"decode the " + coding + " body"}
				case "corrupt":
					w = want{outcome: tape.OutcomeMalformed, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "a", input: -1, output: 1, flags: []string{FlagCompressed}, message: []string{"decode the " + coding + " body"}}
				}
				check(t, play(t, script{head, append(steps, end(200))}), w)
			})
		}
	}
}

// A bomb costs no more than the limit on one event.
func TestCompressedBomb(t *testing.T) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	fmt.Fprintf(z, "data: %s", strings.Repeat("x", 20<<20))
	z.Close()
	head := strings.Replace(head, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1)
	req := play(t, script{head, []step{at(10, out.String()), end(10)}}, func(c *Config) { c.MaxEvent = 1 << 20 })
	if req.Outcome != tape.OutcomeTooLarge || req.Bytes.Body > 2<<20 {
		t.Errorf("%s: %s, %d bytes read", req.Outcome, req.Message, req.Bytes.Body)
	}
}
