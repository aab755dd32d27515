package simserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokentape/internal/clock"
)

// Byte for byte, and at its time: a script's answer to requests on one
// connection, with other paths between them.
func TestScript(t *testing.T) {
	o := quick(func(o *Options) {
		o.Scripts = []Script{{Path: "a.case", Text: "answer x2\n  @100 e(C(Hi)) @150 DONE END\nanswer\n  head \"HTTP/1.1 200 OK\\r\\nX-Odd:  y \\r\\n\\r\\n\"\n  @10 \"da\" @20 \"ta\" CUT\n"}}
	})
	inBubble(t, o, func(t *testing.T, s *Server, n *network, clk *clock.Clock) {
		for i := range 4 {
			start := clk.Now()
			g := n.post(t.Context(), clk, "/v1/chat/completions", `{}`, "X-Request-Id", fmt.Sprint("r", i))
			switch {
			case i%3 == 2:
				if g.err != nil || strings.Join(g.data, "") != "data" || g.end-start != 20*ms {
					t.Errorf("request %d: %+v from %d", i, g, start)
				}
			case g.err != nil || len(g.data) != 2 || !strings.Contains(g.data[0], `"content":"Hi"`) || g.times[0]-start != 100*ms || g.times[1]-start != 150*ms:
				t.Errorf("request %d: %+v from %d", i, g, start)
			}
			resp, err := n.client.Get("http://sim/v1/models")
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(b), "sim-7b") {
				t.Errorf("models: %s", b)
			}
		}
		if tr := s.Trace(); len(tr) != 4 || tr[0].ID != "r0" || tr[3].N != 3 || tr[0].Fault != "script" || tr[0].Status != 200 {
			t.Errorf("truths: %+v", tr)
		}
		if seen := s.Seen(); seen["/v1/chat/completions"] != 4 || seen["/v1/models"] != 4 {
			t.Errorf("seen: %v", seen)
		}
	})
}

// Scripts with weights are drawn by the seed.
func TestScriptWeights(t *testing.T) {
	draw := func(seed uint64) string {
		o := quick(func(o *Options) {
			o.Seed = seed
			o.Scripts = []Script{{Path: "a", Text: "answer\n  @0 \"a\" END\n", Weight: 3}, {Path: "b", Text: "answer\n  @0 \"b\" END\n", Weight: 1}}
		})
		r, err := o.rotation()
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for n := range 4000 {
			out = append(out, r.Answer(n).Steps[0].Data...)
		}
		return string(out)
	}
	one := draw(1)
	if n := strings.Count(one, "a"); n < 2890 || n > 3110 { // ± 4 standard errors
		t.Errorf("%d of 4000 with a weight of 3 in 4", n)
	}
	if draw(1) != one || draw(2) == one {
		t.Error("the seed does not decide")
	}
}

func TestScriptOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.case")
	if err := os.WriteFile(path, []byte("answer\n  @5 \"x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := Script{Path: "good", Text: "answer\n  @0 END\n"}
	for part, o := range map[string]Options{
		"x.case:2: the timeline must end": quick(func(o *Options) { o.Scripts = []Script{{Path: path}} }),
		"no such file":                    quick(func(o *Options) { o.Scripts = []Script{{Path: path + "x"}} }),
		"cannot go together":              quick(func(o *Options) { o.Scripts, o.Faults = []Script{good}, []Fault{{Kind: FaultCut}} }),
		"a weight above 0, or none":       quick(func(o *Options) { o.Scripts = []Script{good, {Path: "w", Text: good.Text, Weight: 1}} }),
		"cannot refuse a connection":      quick(func(o *Options) { o.Scripts = []Script{{Path: "r", Text: "answer\n  refuse\n"}} }),
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

// Close ends connections that a script keeps open, and asks for the key on each
// request of one.
func TestScriptCloseAndKey(t *testing.T) {
	o := quick(func(o *Options) {
		o.APIKey = "sk-1"
		o.Scripts = []Script{{Path: "hang", Text: "answer\n  @0 \"x\" END\nanswer\n  @0 \"x\" HANG\n"}}
	})
	r, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	answers := bufio.NewReader(conn)
	ask := func(key string) *http.Response {
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", key)
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for _, c := range []struct {
		key    string
		status int
		body   string
	}{{"sk-1", 200, "x"}, {"wrong", 401, `{"error":"Unauthorized"}`}} {
		resp := ask(c.key)
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != c.status || string(b) != c.body {
			t.Errorf("key %s: %d %q", c.key, resp.StatusCode, b)
		}
	}
	resp := ask("sk-1") // hangs after one byte
	if b, err := io.ReadAll(io.LimitReader(resp.Body, 1)); string(b) != "x" || err != nil {
		t.Errorf("before Close: %q, %v", b, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(resp.Body); len(b) != 0 || err == nil {
		t.Errorf("after Close: %q, %v", b, err)
	}
}
