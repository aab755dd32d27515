package client

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/memnet"
)

const ms = int64(time.Millisecond)

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// bytewise cuts s into segments of one byte, one millisecond apart.
func bytewise(s string) (segs []segment) {
	for i := range s {
		segs = append(segs, segment{time.Millisecond, s[i : i+1]})
	}
	return segs
}

func TestMarks(t *testing.T) {
	ev1, ev2 := "data: one\n\n", "data: two\n\n"
	whole := chunk(ev1 + ev2)
	cut := strings.Index(whole, ev2)
	repeat := func(t int64, n int) []int64 { return slices.Repeat([]int64{t}, n) }
	byteStamps := func(s, body string) (out []int64) { // of body inside s, a byte a millisecond
		at := strings.Index(s, body)
		for i := range body {
			out = append(out, int64(at+i+1)*ms)
		}
		return out
	}
	lengthHead := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
	oneByte := chunkedHead + "B;x=\"y\"\r\n" + ev1 + "\r\n0\r\nT: v\r\n\r\n"

	tests := []struct {
		name    string
		segs    []segment
		close   bool
		body    string
		stamps  []int64
		headers int64
		end     int64
	}{
		{
			// The case that GotFirstResponseByte and a stamp after Body.Read get wrong.
			name: "one chunk, two events, two segments",
			segs: []segment{{0, chunkedHead}, {time.Second, whole[:cut]}, {500 * time.Millisecond, whole[cut:] + "0\r\n\r\n"}},
			body: ev1 + ev2, stamps: append(repeat(1000*ms, len(ev1)), repeat(1500*ms, len(ev2))...), end: 1500 * ms,
		},
		{
			name: "one byte a segment, extension and trailer",
			segs: bytewise(oneByte),
			body: ev1, stamps: byteStamps(oneByte, ev1), headers: ms, end: int64(len(oneByte)) * ms,
		},
		{
			name: "one byte a segment, Content-Length",
			segs: bytewise(lengthHead + "abcdef"),
			body: "abcdef", stamps: byteStamps(lengthHead+"abcdef", "abcdef"), headers: ms, end: int64(len(lengthHead)+6) * ms,
		},
		{
			name: "many chunks a segment",
			segs: []segment{{0, chunkedHead}, {2 * time.Millisecond, strings.Repeat(chunk("ab"), 300)}, {3 * time.Millisecond, strings.Repeat(chunk("c"), 5000) + "0\r\n\r\n"}},
			body: strings.Repeat("ab", 300) + strings.Repeat("c", 5000), stamps: append(repeat(2*ms, 600), repeat(5*ms, 5000)...), end: 5 * ms,
		},
		{
			name: "header and body in one segment, no delay",
			segs: []segment{{4 * time.Millisecond, chunkedHead + chunk(ev1) + "0\r\n\r\n"}},
			body: ev1, stamps: repeat(4*ms, len(ev1)), headers: 4 * ms, end: 4 * ms,
		},
		{
			name: "100 and 103 first",
			segs: []segment{{ms1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\nLink: </x>\r\n\r\n"}, {ms1, lengthHead + "abc"}, {ms1, "def"}},
			body: "abcdef", stamps: append(repeat(2*ms, 3), repeat(3*ms, 3)...), headers: 2 * ms, end: 3 * ms,
		},
		{
			name: "103 cut in two, its end with the final response",
			segs: []segment{{ms1, "HTTP/1.1 103 Ea"}, {ms1, "rly\r\n\r\n" + lengthHead + "abcdef"}},
			body: "abcdef", stamps: repeat(2*ms, 6), headers: 2 * ms, end: 2 * ms,
		},
		{
			name: "HTTP/1.0 until the connection ends", close: true,
			segs: []segment{{0, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}, {ms1, "ab"}, {ms1, "c"}, {ms1, ""}},
			body: "abc", stamps: append(repeat(ms, 2), 2*ms), end: 3 * ms,
		},
		{
			name: "HTTP/1.1 until the connection ends", close: true,
			segs: []segment{{0, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab"}, {ms1, "c"}},
			body: "abc", stamps: append(repeat(0, 2), ms), end: ms,
		},
		{name: "empty", segs: []segment{{ms1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}}, headers: ms, end: ms},
		{name: "no content", segs: []segment{{ms1, "HTTP/1.1 204 No Content\r\n\r\n"}}, headers: ms, end: ms},
		{
			name: "long and folded header lines",
			segs: []segment{{0, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("transfer-encoding: x ", 300) + "\r\n folded\r\nContent-Length: 2\r\n\r\na"}, {ms1, "b"}},
			body: "ab", stamps: []int64{0, ms}, end: ms,
		},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 7, 4096, 1 << 16} {
			t.Run(fmt.Sprintf("%s/buffer %d", tt.name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := start(t, serveRaw(func(_ int, _ *http.Request, nc *memnet.Conn) bool {
						writeSegments(nc, tt.segs)
						return !tt.close
					}))
					var tr Trace
					resp := post(t, c, &tr)
					body, stamps, delivered, err := readAll(t, resp.Body, size)
					if err != nil || string(body) != tt.body {
						t.Fatalf("body %q, %v; want %q", body, err, tt.body)
					}
					if !slices.Equal(stamps, tt.stamps) {
						t.Errorf("stamps\n%v, want\n%v", stamps, tt.stamps)
					}
					// Nothing is held back behind the rest of a split chunk.
					if !slices.Equal(delivered, tt.stamps) {
						t.Errorf("handed on at\n%v, want\n%v", delivered, tt.stamps)
					}
					if resp.Body.Approximate() {
						t.Error("marks are said to be approximate")
					}
					if tr.Headers != tt.headers || resp.Body.Last() != tt.end {
						t.Errorf("headers %d, end %d; want %d, %d", tr.Headers, resp.Body.Last(), tt.headers, tt.end)
					}
					resp.Body.Close()
				})
			})
		}
	}
}

const ms1 = time.Millisecond

// A random response cut at random places: every body byte has the time of its
// segment, whatever the buffer.
func TestMarksRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var raw strings.Builder
		var body []int // offsets of body bytes in raw
		add := func(s string) {
			for i := range s {
				body = append(body, raw.Len()+i)
			}
			raw.WriteString(s)
		}
		data := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("\r\n0a:dt ;")), 0, 40, -1), 0, 12).Draw(rt, "data")
		if rapid.Bool().Draw(rt, "early") {
			raw.WriteString("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")
		}
		framing := rapid.SampledFrom([]string{"chunked", "length", "close"}).Draw(rt, "framing")
		switch framing {
		case "chunked":
			raw.WriteString("HTTP/1.1 200 OK\r\ntransfer-encoding:  Chunked \r\n\r\n")
			for _, s := range data {
				if s == "" {
					continue
				}
				ext := rapid.SampledFrom([]string{"", ";a=b", ";q=\"0\"", "  "}).Draw(rt, "ext")
				fmt.Fprintf(&raw, rapid.SampledFrom([]string{"%x%s\r\n", "%X%s\r\n", "00%x%s\r\n"}).Draw(rt, "hex"), len(s), ext)
				add(s)
				raw.WriteString("\r\n")
			}
			raw.WriteString(rapid.SampledFrom([]string{"0\r\n\r\n", "0\r\nTrailer: 1\r\nMore: 2\r\n\r\n", "000\r\n\r\n"}).Draw(rt, "end"))
		case "length":
			all := strings.Join(data, "")
			fmt.Fprintf(&raw, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(all))
			add(all)
		case "close":
			raw.WriteString("HTTP/1.1 200 OK\r\n\r\n")
			add(strings.Join(data, ""))
		}
		text := raw.String()
		cuts := append(rapid.SliceOfN(rapid.IntRange(0, len(text)), 0, 40).Draw(rt, "cuts"), 0, len(text))
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		size := rapid.IntRange(1, 200).Draw(rt, "buffer")
		var segs []segment
		at := make([]int64, len(text)) // arrival of every raw byte
		for i := 1; i < len(cuts); i++ {
			segs = append(segs, segment{ms1, text[cuts[i-1]:cuts[i]]})
			for k := cuts[i-1]; k < cuts[i]; k++ {
				at[k] = int64(i) * ms
			}
		}
		var fault string
		synctest.Test(t, func(t *testing.T) { // rapid's own calls stay outside the bubble
			c := start(t, serveRaw(func(_ int, _ *http.Request, nc *memnet.Conn) bool {
				writeSegments(nc, segs)
				return framing != "close"
			}))
			var tr Trace
			resp := post(t, c, &tr)
			defer resp.Body.Close()
			got, stamps, delivered, err := readAll(t, resp.Body, size)
			switch {
			case err != nil || string(got) != strings.Join(data, ""):
				fault = fmt.Sprintf("body %q, %v", got, err)
			case resp.Body.Approximate():
				fault = "approximate"
			case resp.Body.Last() != at[len(at)-1]:
				fault = fmt.Sprintf("end %d, want %d", resp.Body.Last(), at[len(at)-1])
			}
			for i, off := range body {
				if fault == "" && (stamps[i] != at[off] || delivered[i] < at[off]) {
					fault = fmt.Sprintf("byte %d stamped %d, handed on %d, came %d", i, stamps[i], delivered[i], at[off])
				}
			}
		})
		if fault != "" {
			rt.Fatalf("%s\nof %q in %v", fault, text, cuts)
		}
	})
}

// A response to HEAD has no body, whatever its header says; and the end of a
// response stays its end when the connection ends later.
func TestMarksNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, serveRaw(func(_ int, _ *http.Request, nc *memnet.Conn) bool {
			writeSegments(nc, []segment{{ms1, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"}, {time.Second, ""}})
			return false
		}))
		resp, err := c.Do(t.Context(), "HEAD", "http://sim.test/", nil, nil, new(Trace))
		if err != nil {
			t.Fatal(err)
		}
		if body, _, _, err := readAll(t, resp.Body, 10); len(body) > 0 || err != nil || resp.Body.Approximate() {
			t.Errorf("%q, %v, approximate %v", body, err, resp.Body.Approximate())
		}
		time.Sleep(2 * time.Second)
		if resp.Body.Last() != ms {
			t.Errorf("end moved to %d", resp.Body.Last())
		}
		resp.Body.Close()
	})
}

// Where the account gives up, the marks fall back and say so.
func TestMarksFallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// net/http joins the folded line; the account does not try.
		head := "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
		c := start(t, serveRaw(segments(segment{0, head}, segment{ms1, chunk("ab")}, segment{ms1, chunk("cd") + "0\r\n\r\n"})))
		var tr Trace
		resp := post(t, c, &tr)
		body, stamps, _, err := readAll(t, resp.Body, 100)
		if err != nil || string(body) != "abcd" || !slices.Equal(stamps, []int64{ms, ms, 2 * ms, 2 * ms}) {
			t.Errorf("%q %v %v", body, stamps, err)
		}
		if !resp.Body.Approximate() {
			t.Error("not said to be approximate")
		}
		resp.Body.Close()
	})
}

// FuzzAccount: any bytes in any pieces count the same as in one piece, and never
// more body bytes than bytes.
func FuzzAccount(f *testing.F) {
	f.Add([]byte(chunkedHead+chunk("data: x\n\n")+"0\r\n\r\n"), uint8(3))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), uint8(1))
	f.Add([]byte("HTTP/1.0 200 OK\n\nhello"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		var whole, parts account
		whole.reset("POST")
		parts.reset("POST")
		want := whole.feed(data)
		got := 0
		for rest := data; len(rest) > 0; {
			k := min(max(int(step), 1), len(rest))
			got += parts.feed(rest[:k])
			rest = rest[k:]
		}
		if got != want || want > len(data) {
			t.Errorf("%d body bytes in pieces, %d at once, of %d", got, want, len(data))
		}
	})
}
