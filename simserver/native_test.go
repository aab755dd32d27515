package simserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// nativeNames are the APIs beside OpenAI's two old ones.
var nativeNames = []string{"openai-responses", "anthropic-messages", "sglang-generate", "tgi", "ollama", "llamacpp", "triton-generate"}

// ask sends an item as a dialect does, with the header fields it wants.
func ask(t testing.TB, s *Server, name string, stream bool, output int64, header ...string) (dialect.Dialect, *httptest.ResponseRecorder) {
	t.Helper()
	d, err := dialect.New(name, dialect.Setup{Model: "sim-7b", Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	prompt := "Hello there, <you> \"all\""
	body, err := d.Body(workload.Item{Prompt: prompt, Messages: []workload.Message{{Role: "user", Content: prompt}}},
		dialect.Options{Model: "sim-7b", Stream: stream, OutputLen: output, Sampling: map[string]any{"ignore_eos": true}})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range d.Header() {
		header = append(header, k, v)
	}
	return d, do(s, "POST", d.Path(), string(body), header...)
}

// understand reads an answer by the decoder: what a client makes of it.
func understand(d dialect.Dialect, w *httptest.ResponseRecorder, stream bool) (f dialect.Facts, marks []dialect.Mark, text string) {
	dec := d.NewDecoder()
	var b strings.Builder
	dec.SetSink(func(p dialect.Piece) { b.Write(p.Text) })
	if !stream {
		dec.Whole(w.Body.Bytes())
		return *dec.Facts(), nil, b.String()
	}
	fr := frame.New(d.Framing(), frame.Max)
	fr.Feed(w.Body.Bytes())
	for end := false; ; {
		ev, ok, err := fr.Next()
		if err != nil {
			return f, nil, err.Error()
		}
		if !ok && end {
			break
		}
		if !ok {
			fr.End()
			end = true
			continue
		}
		marks = dec.Event(ev.Name, ev.Payload, marks)
	}
	return *dec.Facts(), marks, b.String()
}

// Every API says the same about the same request, whole and in a stream, with
// one token a step and with several.
func TestNativeSaysTheSame(t *testing.T) {
	for _, speculate := range []int{1, 3} {
		texts := map[bool]string{} // chat or text prompt: prompts differ by the template
		for _, name := range nativeNames {
			for _, stream := range []bool{true, false} {
				s := newServer(t, quick(func(o *Options) { o.TokensPerEvent, o.SpecUsage, o.AcceptRate = speculate, true, 0.5 }))
				d, w := ask(t, s, name, stream, 7)
				f, marks, text := understand(d, w, stream)
				if w.Code != http.StatusOK || f.Err != nil || f.Malformed > 0 || !f.HasOutput || stream && !f.Done && !f.EndIsDone {
					t.Fatalf("%s, stream %v: %d %+v\n%s", name, stream, w.Code, f, w.Body)
				}
				chat := slices.Contains([]string{"openai-responses", "anthropic-messages", "ollama"}, name)
				if texts[chat] == "" {
					texts[chat] = text
				}
				if text != texts[chat] || strings.Count(text, " ") != 6 {
					t.Errorf("%s, stream %v: text %q, want %q", name, stream, text, texts[chat])
				}
				if name != "triton-generate" && (f.Output != 7 || f.Input < 5 || f.Finish == "") {
					t.Errorf("%s, stream %v: %+v", name, stream, f)
				}
				tr := s.Trace()[0]
				events := 0
				for _, m := range marks {
					if tape.IsToken(m.Kind) {
						events++
					}
				}
				steps := len(tr.Tokens)
				if name == "tgi" {
					steps = 7 // an event a token
				}
				if stream && events != steps || tr.OutputTokens != 7 || tr.Finish == "" || tr.Path != d.Path() {
					t.Errorf("%s, stream %v: %d token events in %d steps, truth %+v", name, stream, events, steps, tr)
				}
				if name == "sglang-generate" && speculate > 1 && (f.Verify != int64(len(tr.Tokens))-1 && stream || f.Accepted < 0 || f.Rejected < 0) {
					t.Errorf("speculation: %+v in %d steps", f, steps)
				}
			}
		}
	}
}

// The incremental form of /generate means the same.
func TestGenerateIncremental(t *testing.T) {
	read := func(o Options) (dialect.Facts, string, int) {
		d, w := ask(t, newServer(t, o), "sglang-generate", true, 9)
		f, marks, text := understand(d, w, true)
		return f, text, len(marks)
	}
	f, text, n := read(quick())
	f2, text2, n2 := read(quick(func(o *Options) { o.Incremental = true }))
	if text != text2 || f.Output != f2.Output || n != n2 {
		t.Errorf("%q, %d tokens, %d events; incremental %q, %d, %d", text, f.Output, n, text2, f2.Output, n2)
	}
}

func TestNativeFaults(t *testing.T) {
	for _, name := range nativeNames {
		s := newServer(t, quick())
		d, w := ask(t, s, name, true, 7, FaultHeader, "error-event,after=3,code=500")
		f, _, text := understand(d, w, true)
		if f.Err == nil || !strings.Contains(f.Err.Message, "the engine failed") || strings.Count(text, " ") != 2 {
			t.Errorf("%s: an error in the stream: %+v, text %q\n%s", name, f, text, w.Body)
		}
		d, w = ask(t, s, name, false, 7, FaultHeader, "error-event,code=500")
		if f, _, _ := understand(d, w, false); w.Code != 500 || f.Err == nil {
			t.Errorf("%s: an error instead of an answer: %d %s", name, w.Code, w.Body)
		}
		d, w = ask(t, s, name, true, 7, FaultHeader, "no-usage")
		if f, _, _ := understand(d, w, true); f.Err != nil || f.Output != dialect.Unknown && name != "sglang-generate" && name != "llamacpp" {
			t.Errorf("%s: counts were asked to be left out: %+v", name, f)
		}
		if _, w := ask(t, s, name, true, 7, FaultHeader, "status,code=429"); w.Code != 429 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if _, w := ask(t, s, name, true, 7, FaultHeader, "usage-dummy"); w.Code != 400 || !strings.Contains(w.Body.String(), "is not made at") {
			t.Errorf("%s: a fault of another API: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestNativeRefuses(t *testing.T) {
	s := newServer(t, quick(func(o *Options) { o.Context = 50 }))
	for _, c := range []struct{ path, body, want string }{
		{"/v1/responses", `{"input":7}`, "body.input"}, {"/v1/responses", `{"input":[]}`, "at least one message"}, {"/v1/responses", `{"input":"hi","stream":1}`, "body.stream"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"hi"}]}`, "anthropic-version"},
		{"/generate", `{}`, "text, input_ids"}, {"/generate", `{"text":""}`, "prompt is empty"}, {"/generate", `{"input_ids":[1.5]}`, "no token id"},
		{"/generate_stream", `{"text":"x"}`, "inputs"}, {"/api/chat", `{"messages":[]}`, "at least one message"}, {"/completion", `{}`, "body.prompt"},
		{"/v2/models/m/generate", `{}`, "text_input"}, {"/v2/models/m/infer", `{}`, "Not Found"}, {"/generate", `{`, "JSON"},
		{"/completion", `{"prompt":"hi","n_predict":1000}`, "maximum context length"},
	} {
		w := do(s, "POST", c.path, c.body)
		if w.Code < 400 || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if w := do(s, "GET", "/generate", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

// The whole wire form, byte for byte, at a fixed wall time.
func TestNativeGolden(t *testing.T) {
	for _, name := range nativeNames {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, quick())
				_, w := ask(t, s, name, true, 3, "X-Request-Id", "r1")
				_, w2 := ask(t, s, name, false, 3, "X-Request-Id", "r2")
				golden(t, name+".txt", w.Header().Get("Content-Type")+"\n"+w.Body.String()+"\n"+w2.Header().Get("Content-Type")+"\n"+w2.Body.String()+"\n")
			})
		})
	}
}

func FuzzNative(f *testing.F) {
	for _, name := range nativeNames {
		d, err := dialect.New(name, dialect.Setup{Model: "m", Stream: true})
		if err != nil {
			f.Fatal(err)
		}
		body, err := d.Body(workload.Item{Prompt: "hi"}, dialect.Options{Stream: true, OutputLen: 3})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(d.Path(), string(body))
	}
	s := NewWithClock(quick(func(o *Options) { o.Context = 100 }), clock.New())
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, path, body string) {
		if nativeAt(path) == nil {
			return
		}
		r := httptest.NewRequest("POST", "/x", strings.NewReader(body))
		r.URL.Path = path
		r.Header.Set("anthropic-version", "1")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if kind := w.Header().Get("Content-Type"); kind == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
