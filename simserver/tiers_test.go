package simserver

import (
	"fmt"
	"strings"
	"testing"
)

// Prompts that fall out of the device's pages are found in the host's and then in
// storage, and the answer says so where that is asked.
func TestTiers(t *testing.T) {
	s := newServer(t, quick(func(o *Options) {
		o.PageSize, o.CachePages, o.HostPages, o.StoragePages, o.CacheReport = 1, 100, 100, 100, CacheReportOff
	}))
	ask := func(name string) string {
		t.Helper()
		w := do(s, "POST", "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":1,"return_cached_tokens_details":true}`, strings.Repeat(name+" ", 60)))
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		return w.Body.String()
	}
	for _, c := range []struct{ name, want string }{
		{"a", `{"device":0,"host":0,"storage":0,"storage_backend":"HiCacheFile"}`},
		{"a", `{"device":60,"host":0,"storage":0,`},
		{"b", `{"device":0,`}, {"c", `{"device":0,`}, {"d", `{"device":0,`}, // a lies 180 pages back
		{"a", `{"device":0,"host":17,"storage":43,`},
	} {
		got := ask(c.name)
		if !strings.Contains(got, `"sglext":{"cached_tokens_details":`+c.want[:1]) || !strings.Contains(got, c.want) || strings.Contains(got, `"prompt_tokens_details":{`) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := ask("a"); !strings.Contains(got, `"device":60,"host":0`) { // it came back
		t.Error(got)
	}
	w := do(s, "POST", "/generate", `{"text":"`+strings.Repeat("d ", 60)+`","sampling_params":{"max_new_tokens":1}}`)
	if got := w.Body.String(); !strings.Contains(got, `"cached_tokens":60,"cached_tokens_details":{"device":`) {
		t.Error(got)
	}
	flat := newServer(t, quick(func(o *Options) { o.PageSize = 1 }))
	w = do(flat, "POST", "/generate", `{"text":"a b c","sampling_params":{"max_new_tokens":1}}`)
	if got := w.Body.String(); strings.Contains(got, "cached_tokens_details") {
		t.Error(got)
	}
	w = do(flat, "POST", "/v1/completions", `{"prompt":"a b c","max_tokens":1,"return_cached_tokens_details":true}`)
	if got := w.Body.String(); strings.Contains(got, "sglext") {
		t.Error(got)
	}
}
