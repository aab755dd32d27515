package simserver

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Speculation accepts more where the prompt asks for a copy.
func TestCopyAcceptRate(t *testing.T) {
	o := Instant()
	o.TokensPerEvent, o.AcceptRate, o.CopyAcceptRate = 4, 0.1, 1
	s := New(o)
	defer s.Close()
	for i, prompt := range []string{"Tell me a story.", "Repeat this word for word."} {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":401,"ignore_eos":true,"stream":true}`, prompt)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewBufferString(body)))
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		steps := len(s.Trace()[i].Tokens)
		// 1 token of the prefill, then 400: 100 steps when all of a draft is
		// accepted, some 360 at 1 in 10.
		if copied := i == 1; copied && steps != 101 || !copied && steps < 300 {
			t.Errorf("%q: %d events", prompt, steps)
		}
	}
}
