package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// story is all that a reader says of a tape, to its last error.
func story(r *Reader) string {
	defer r.Close()
	var b strings.Builder
	for {
		rec, err := r.Next()
		if err != nil {
			fmt.Fprintf(&b, "%v\n%s", err, r.SHA256())
			return b.String()
		}
		text, _ := json.Marshal(rec)
		fmt.Fprintf(&b, "%T %s\n", rec, text)
	}
}

// hurt makes of a tape one that was torn, damaged or edited.
func hurt(t *rapid.T, b []byte) []byte {
	for range rapid.IntRange(0, 3).Draw(t, "wounds") {
		if len(b) == 0 {
			break
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "wound") {
		case 0:
			b = b[:at]
		case 1:
			b[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		case 2:
			b = append(b[:at:at], append([]byte("\n{\"type\":\"request\",\"seq\":x}\n"), b[at:]...)...)
		}
	}
	return b
}

// However lines are read, they say the same: serially, or ahead by any number of
// workers, of any tape.
func TestAheadIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var buf bytes.Buffer
		w := NewWriter(&buf, rapid.Bool().Draw(t, "zstd"))
		_ = w.Write(&Header{Run: "r"})
		for i := range rapid.IntRange(0, 40).Draw(t, "requests") {
			// Some lines are longer than a reader's buffer, and some batches full of them.
			_ = w.Write(stream(int64(i), rapid.SampledFrom([]int{0, 1, 7, 300, 9000}).Draw(t, "tokens")))
			if rapid.IntRange(0, 5).Draw(t, "flush") == 0 {
				_ = w.Flush()
			}
		}
		_ = w.Write(&Footer{Reason: "completed"})
		_ = w.Close()
		b := hurt(t, buf.Bytes())
		limit := rapid.SampledFrom([]int{maxLine, 5000, 100_000}).Draw(t, "limit")
		read := func(workers int) string {
			r := NewReader(bytes.NewReader(b))
			r.limit = limit
			r.Ahead(workers)
			return story(r)
		}
		want := read(0)
		for _, workers := range []int{1, 3} {
			if got := read(workers); got != want {
				t.Fatalf("%d workers:\n%s", workers, cmp.Diff(want, got))
			}
		}
	})
}

// A reader that is closed early leaves nothing behind that waits or runs.
func TestAheadClosedEarly(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, true)
	_ = w.Write(&Header{})
	for i := range int64(300) {
		_ = w.Write(stream(i, 1000))
	}
	_ = w.Close()
	for _, n := range []int{0, 1, 100} {
		r := NewReader(bytes.NewReader(buf.Bytes()))
		r.Ahead(2)
		for range n {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil { // waits for its goroutines
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a closed reader: %v", err)
		}
	}
}

// A trusted tape gives the same records without the proof of them.
func TestTrust(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, false)
	_ = w.Write(&Header{})
	broken := stream(0, 3)
	broken.TLastToken.V++
	_ = w.Write(broken)
	_ = w.Write(&Footer{})
	_ = w.Close()
	count := func(trust bool) (requests, faults int) {
		r := NewReader(bytes.NewReader(bytes.Replace(buf.Bytes(), []byte(`"attempts":1`), []byte(`"attempts":2`), 1)))
		if trust {
			r.Trust()
		}
		for {
			switch rec, err := r.Next(); rec.(type) {
			case *Request:
				requests++
			case *Fault:
				faults++
			case nil:
				if err != io.EOF {
					t.Fatal(err)
				}
				return requests, faults
			}
		}
	}
	if n, f := count(false); n != 1 || f != 2 {
		t.Errorf("%d requests, %d faults, want 1 and 2: a rule, the hash", n, f)
	}
	if n, f := count(true); n != 1 || f != 0 {
		t.Errorf("trusted: %d requests, %d faults, want 1 and 0", n, f)
	}
}

// Numbers of every length and form are read as encoding/json reads them, or left
// to it.
func TestInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,20}`), rapid.StringMatching(`[1-9][0-9]{5,8}`), rapid.StringMatching(`[1-9][0-9]{6}`),
			rapid.StringMatching(`-?[0-9]{0,3}[ .:/e]?[0-9]?`)), 0, 9).Draw(t, "parts")
		text := []byte("[" + strings.Join(parts, ",") + "]      ")
		var got, want []int64
		c := cursor{b: text}
		ints(&c, &got)
		err := json.Unmarshal(text, &want)
		if !c.bad && (err != nil || !slices.Equal(got, want)) {
			t.Fatalf("%s: %v, encoding/json: %v %v", text, got, want, err)
		}
		plain := err == nil
		for _, p := range parts {
			plain = plain && len(p) <= 18
		}
		if c.bad && plain {
			t.Fatalf("%s is left to encoding/json", text)
		}
	})
}
