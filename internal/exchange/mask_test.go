package exchange

import (
	"encoding/json"
	"strings"
	"testing"
)

// A key that a server repeats does not reach the tape, however it is spelt there.
func TestKeyIsNowhere(t *testing.T) {
	const key = `sk-very"secret/key+0123456789`
	const spelt = `sk-very\"secret\/key\u002b0123456789` // in JSON
	for name, s := range map[string]script{
		"in the answer": {head, []step{at(10, e(c("the key is sk-very")), e(d(`{"content":"\"secret\/key\u002b0123456789"}`)),
			e(d(`{"reasoning_content":"`+spelt+`"}`)),
			e(d(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"k\":\"sk-very\\\"secret/key+0123456789\"}"}}]}`)), e(fin("stop")), done), end(20)}},
		"in the finish reason": {head, []step{at(10, e(c("a")), e(fin(spelt)), done), end(20)}},
		"in an error":          {"HTTP/1.1 401 Unauthorized\r\n" + chunked + "\r\n\r\n", []step{at(10, `{"message":"invalid: `+spelt+`"}`), end(20)}},
		"in an error, cut":     {"HTTP/1.1 401 Unauthorized\r\n" + chunked + "\r\n\r\n", []step{at(10, strings.Repeat("x", 175)+" "+spelt), end(20)}},
		"in an error, as HTML": {"HTTP/1.1 401 Unauthorized\r\n" + chunked + "\r\n\r\n", []step{at(10, `<b>sk-very&quot;secret/key&#43;0123456789`), end(20)}},
		"in an event":          {head, []step{at(10, e(`{"error":{"message":"`+spelt+`"}}`)), end(20)}},
	} {
		t.Run(name, func(t *testing.T) {
			req := play(t, s, func(c *Config) { c.Secrets = []string{key} })
			line, err := json.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"sk-v", "secret", "0123456789"} {
				if strings.Contains(string(line), part) {
					t.Errorf("%q in %s", part, line)
				}
			}
			if !strings.Contains(string(line), "***") {
				t.Errorf("no mask in %s", line)
			}
		})
	}
}
