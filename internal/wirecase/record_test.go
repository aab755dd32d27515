package wirecase_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/wirecase"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// D08: unusual text in records: NUL and other control characters, half a
// surrogate pair, markup, a formula, 1 MB. A record stays one line and reads
// again as the same text; text can be left out; a CSV never begins a cell with a
// formula (TestCSV of the report), exit codes are those of docs/exit-codes.md
// (the scripts of the command line).
func TestD08UnusualText(t *testing.T) {
	for content, want := range map[string]string{
		`=1+1\u0000\u0001\ud83d</script>`: "=1+1\x00\x01\ufffd</script>",
		`a\r\nb\u2028c\u0085d\"e\\`:       "a\r\nb\u2028c\u0085d\"e\\",
		`<\u0007*600000>`:                 strings.Repeat("\a", 600000),
	} {
		for _, mode := range []string{exchange.OutputFull, exchange.OutputHash, exchange.OutputNone} {
			synctest.Test(t, func(t *testing.T) {
				f, err := wirecase.Parse("d08", []byte("answer\n  @5 e(C("+content+")) e(FIN(stop)) DONE END\n"))
				if err != nil {
					t.Fatal(err)
				}
				clk, l := clock.New(), memnet.Listen()
				r := &rig{t: t, clk: clk, v: f.Variants[0]}
				stop := r.listen(l)
				defer stop()
				c := client.New(client.Config{Clock: clk, Dial: l.Dial})
				defer c.Close()
				ex := exchange.New(exchange.Config{Client: c, Dialect: chat(t), Clock: clk, URL: host + "/v1/chat/completions", Output: mode,
					Options: dialect.Options{Model: "m", Stream: true}})
				p, err := ex.Prepare(workload.Item{Messages: []workload.Message{{Role: "user", Content: "hi"}}})
				if err != nil {
					t.Fatal(err)
				}
				q := &tape.Request{Type: "request", Phase: tape.PhaseMeasure, TReleased: tape.Some(clk.Now())}
				ex.Do(context.Background(), p, q)
				var line bytes.Buffer
				w := tape.NewWriter(&line, false)
				for _, rec := range []any{&tape.Header{Type: "header", Schema: tape.Schema, Spec: []byte("{}")}, q} {
					if err := w.Write(rec); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				lines := bytes.Split(bytes.TrimSuffix(line.Bytes(), []byte("\n")), []byte("\n"))
				if len(lines) != 2 || !json.Valid(lines[1]) {
					t.Fatalf("%s: %d lines for a header and a record", mode, len(lines))
				}
				rd := tape.NewReader(bytes.NewReader(line.Bytes()))
				if _, err := rd.Next(); err != nil {
					t.Fatal(err)
				}
				rec, err := rd.Next()
				if err != nil {
					t.Fatal(err)
				}
				back, ok := rec.(*tape.Request)
				if !ok {
					t.Fatalf("read back: %+v", rec)
				}
				switch mode {
				case exchange.OutputFull:
					if back.Output.Text != want {
						t.Errorf("read back %q, want %q", clip(back.Output.Text), clip(want))
					}
				default:
					if back.Output != nil && back.Output.Text != "" || len(lines[1]) > 2000 {
						t.Errorf("%s: %d bytes, %+v", mode, line.Len(), back.Output)
					}
				}
			})
		}
	}
}
