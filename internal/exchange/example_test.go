package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tokentape/internal/client"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// examples sends one request a script, one after the other, and gives what came
// back beside each.
func examples(t *testing.T, scripts []script, set ...setup) (out []*tape.Example) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scripts, set...)
		defer b.close()
		for i := range scripts {
			item := workload.Item{Messages: []workload.Message{{Role: "user", Content: "the prompt that nobody but the server is to see"}}}
			p, err := b.Prepare(item)
			if err != nil {
				t.Fatal(err)
			}
			req := &tape.Request{Seq: int64(i), ID: "run-1", TReleased: tape.Some(b.clk.Now())}
			got := b.Do(context.Background(), p, req)
			if (got.Example != nil) && !req.Outcome.Failed() {
				t.Errorf("an example of %s", req.Outcome)
			}
			out = append(out, got.Example)
		}
	})
	return out
}

const busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nSet-Cookie: session=abcdef\r\n" + chunked + "\r\n\r\n"

func TestExampleOfRefusal(t *testing.T) {
	s := script{busy, []step{at(1, `{"error":"slow down","input":{"messages":[{"role":"user","content":"the prompt that nobody but the server is to see"}]}}`+"\n"), end(2)}}
	ok := script{head, []step{at(1, e(c("a")), e(fin("stop")), done), end(2)}}
	got := examples(t, []script{ok, s, s, {"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", nil}}, func(c *Config) {
		c.Header = http.Header{"Authorization": {"Bearer sk-0123456789"}, "X-Team": {"blue"}}
		c.Secrets = []string{"sk-0123456789"}
	})
	if got[0] != nil || got[2] != nil {
		t.Fatalf("examples of an ok request, or two of one class: %+v, %+v", got[0], got[2])
	}
	x := got[1]
	if x.Class() != (tape.Class{Outcome: tape.OutcomeStatus, Cause: CauseRateLimit, Status: 429}) || x.Seq != 1 || x.Attempt != 1 || x.Method != "POST" ||
		x.Sent == 0 || x.Proto != "HTTP/1.1" || x.Body == 0 || x.Tail != "" {
		t.Errorf("%+v", x)
	}
	if !strings.HasPrefix(x.Head, `{"error":"slow down","input":{`) || !strings.HasSuffix(x.Head, `\n`) || !strings.Contains(x.Head, "bytes of the request]") || strings.Contains(x.Head, "nobody") {
		t.Errorf("head %q", x.Head)
	}
	request, response := strings.Join(x.Request, "\n"), strings.Join(x.Response, "\n")
	if !strings.Contains(request, "Authorization: Bearer ***") || !strings.Contains(request, "X-Request-Id: run-1") || strings.Contains(request, "blue") {
		t.Errorf("request header\n%s", request)
	}
	if !strings.Contains(response, "Retry-After: 2") || !strings.Contains(response, "Set-Cookie: ***") || strings.Contains(response, "abcdef") {
		t.Errorf("response header\n%s", response)
	}
	if got[3] == nil || got[3].Status != 503 || got[3].Head != "" {
		t.Errorf("%+v", got[3])
	}
}

// The event at fault has its bytes, its number and its place, however the body was
// cut into reads; the end of the body is there too.
func TestExampleOfStream(t *testing.T) {
	first, torn := e(c("hello")), `data: {"choices":[{"delta":{"content":"wor`+"\n\n"
	rest := strings.Repeat(e(c("x")), 50) + e(fin("stop")) + done
	whole := first + torn + rest
	for name, steps := range map[string][]step{
		"at once":  {at(1, whole), end(2)},
		"in three": {at(1, first+torn[:9]), at(2, torn[9:20]), at(3, torn[20:]+rest), end(4)},
	} {
		t.Run(name, func(t *testing.T) {
			x := examples(t, []script{{head, steps}})[0]
			if x == nil || x.Outcome != tape.OutcomeMalformed {
				t.Fatalf("%+v", x)
			}
			if x.Event != `{"choices":[{"delta":{"content":"[3 bytes of output]` || x.EventNo != tape.Some(int64(1)) {
				t.Errorf("event %v: %q", x.EventNo, x.Event)
			}
			if at := x.EventAt.V; whole[at-2:at] != "\n\n" && whole[at-1:at] != "\n" || !strings.HasPrefix(whole[:at], first) || at > int64(len(first+torn)) {
				t.Errorf("event at %d of %q", at, whole[:at])
			}
			if !strings.HasPrefix(x.Head, `data: {"id":"c1"`) || !strings.HasSuffix(x.Tail, `data: [DONE]\n\n`) || x.Body != int64(len(whole)) || x.TailAt.V != x.Body-sampled {
				t.Errorf("%d bytes, tail from %v: %q … %q", x.Body, x.TailAt, x.Head, x.Tail)
			}
			if strings.Contains(x.Head+x.Event+x.Tail, "hello") {
				t.Errorf("generated text in %q", x.Head)
			}
		})
	}
}

// Many small reads keep the last bytes too, and an answer without output texts has
// none when they are not to be recorded.
func TestExampleTail(t *testing.T) {
	var steps []step
	sent := ""
	for i := range 200 {
		ev := e(c(strings.Repeat("y", i%50+1)))
		steps, sent = append(steps, at(int64(i), ev)), sent+ev
	}
	steps = append(steps, at(200, "data: {\"the en"), cut(201))
	sent += "data: {\"the en"
	x := examples(t, []script{{head, steps}})[0]
	if x == nil || x.Outcome != tape.OutcomeTruncated || x.Body != int64(len(sent)) {
		t.Fatalf("%+v", x)
	}
	if want := printable(hush(sent[len(sent)-sampled:])); x.Tail != want {
		t.Errorf("tail %q, want %q", x.Tail, want)
	}
	x = examples(t, []script{{head, steps}}, func(c *Config) { c.Output = OutputNone })[0]
	if x.Head+x.Event+x.Tail != "" || len(x.Response) == 0 {
		t.Errorf("%+v", x)
	}
}

func TestExampleWithoutResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *Config) {
			c.Client = client.New(client.Config{Clock: c.Clock, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }})
		})
		defer b.close()
		p, _ := b.Prepare(workload.Item{Prompt: "x", Messages: []workload.Message{{Role: "user", Content: "x"}}})
		x := b.Do(context.Background(), p, &tape.Request{}).Example
		if x == nil || x.Outcome != tape.OutcomeConnect || x.Status != 0 || x.Response != nil || x.Head != "" || !strings.Contains(x.Message, "no route") {
			t.Errorf("%+v", x)
		}
	})
}

// Wherever a secret stands in what a server sent, and however it was cut into
// reads, no part of 12 bytes or more of it is in an example.
func TestExampleHoldsNoSecret(t *testing.T) {
	const key = "sk-0123456789abcdefghijklmnop"
	ex := New(Config{Dialect: mustChat(t), Secrets: []string{key}})
	rapid.Check(t, func(t *rapid.T) {
		filler := rapid.StringMatching(`[ -~]{0,900}`)
		body := []byte(filler.Draw(t, "before") + key + filler.Draw(t, "after") + key + filler.Draw(t, "end"))
		s := sampler{e: ex, answer: rapid.Bool().Draw(t, "2xx")}
		head, _ := s.begin(body[:min(len(body), headBytes)])
		tail, _ := s.end(body[max(0, len(body)-recent):])
		for _, text := range []string{head, tail, s.both(body)} {
			if len(text) > 4*sampled {
				t.Fatalf("%d bytes", len(text))
			}
			for i := 0; i+12 <= len(key); i++ {
				if strings.Contains(text, key[i:i+12]) {
					t.Fatalf("%q in %q", key[i:i+12], text)
				}
			}
		}
	})
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\r\t\\": `a\nb\r\t\\`, "\x00\x1b[2J": `\x00\x1b[2J`, "\xff日本": `\xff日本`, "\u202e\u2028": `\xe2\x80\xae\xe2\x80\xa8`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// At most so many classes, whatever a server makes up.
func TestExamplesAreBounded(t *testing.T) {
	var s classes
	n := 0
	for i := range 1000 {
		if s.first(tape.Class{Outcome: tape.OutcomeStatus, Status: i}) {
			n++
		}
	}
	if n != maxExamples || s.first(tape.Class{Outcome: tape.OutcomeStatus, Status: 1}) {
		t.Errorf("%d", n)
	}
}

// Every text of an example is a whole line of JSON.
func TestExampleIsALine(t *testing.T) {
	x := examples(t, []script{{"HTTP/1.1 500 X\r\nX-Odd: a\tb\r\n" + chunked + "\r\n\r\n", []step{at(1, "\xff\x00\u2028\n<b>"), end(2)}}})[0]
	b, err := json.Marshal(x)
	if err != nil || strings.ContainsAny(string(b), "\n\u2028") || !strings.Contains(x.Head, `\xff\x00`) {
		t.Errorf("%v %s", err, b)
	}
}
