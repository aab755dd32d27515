package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/client"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// speaker answers each path with its texts one after the other, the last one for good;
// a path without any is not there, and "!" is no answer.
type speaker struct {
	says  map[string][]string
	asked []string
}

func (s *speaker) Get(_ context.Context, url string, _ http.Header, _ int64) (*client.Simple, error) {
	path := strings.TrimPrefix(url, "http://h:1")
	s.asked = append(s.asked, path)
	texts, ok := s.says[path]
	if !ok {
		return page(404, "no"), nil
	}
	text := texts[0]
	if len(texts) > 1 {
		s.says[path] = texts[1:]
	}
	if text == "!" {
		return nil, errors.New("connection refused")
	}
	return page(200, text), nil
}

// witness asks a speaker as a run does: preflight, before, after.
func witness(t *testing.T, s *speaker) (before, after *tape.ServerFacts) {
	t.Helper()
	base, _, err := spec.ResolveURL("h:1", "/v1/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	secrets := secret.New([]string{key})
	w := NewWitness(base, secrets)
	look := Look{Get: w.Watch(s), Base: base, Secrets: secrets, Own: true}
	_, _ = look.Do(t.Context())
	look.Get = s
	before = w.Before(t.Context(), look)
	after = w.After(t.Context(), look)
	return before, after
}

const list = `{"object":"list","data":[{"id":"m","owned_by":"sglang","created":1,"max_model_len":4096},{"id":"a","owned_by":"sglang"}]}`

func TestWitness(t *testing.T) {
	info := func(version string, tp, running int, x string) string {
		return fmt.Sprintf(`{"version":%q,"tp_size":%d,"num_running_reqs":%d,"max_running_requests":64,"drawn":%q,"api_key":"sk-other-secret","internal_states":[{"memory_usage":{"graph":%d}}],"nothing":null}`, version, tp, running, x, running)
	}
	s := &speaker{says: map[string][]string{
		"/v1/models":       {list},
		"/get_server_info": {info("0.5", 8, 1, "a"), info("0.5", 8, 1, "b"), info("0.6", 4, 90, "c")},
		"/get_model_info":  {`{"model_path":"/models/m","weight_version":"1"}`, `{"model_path":"/models/m","weight_version":"2"}`},
	}}
	before, after := witness(t, s)
	want := map[string]string{
		"/get_server_info version": "0.5", "/get_server_info tp_size": "8", "/get_server_info max_running_requests": "64", "/get_server_info api_key": "***",
		"/v1/models m.owned_by": "sglang", "/v1/models m.max_model_len": "4096", "/v1/models a.owned_by": "sglang",
		"/get_model_info model_path": "/models/m", "/get_model_info weight_version": "1",
	}
	if d := cmp.Diff(want, before.Facts); d != "" {
		t.Error(d)
	}
	moving := []string{"/get_server_info drawn", "/get_server_info internal_states[0].memory_usage.graph", "/get_server_info num_running_reqs", "/v1/models m.created"}
	if d := cmp.Diff(moving, before.Moving); d != "" {
		t.Error(d)
	}
	if before.Engine != "sglang" || before.Version != "0.5" || !slices.Equal(before.Models, []string{"a", "m"}) || !before.OK || before.When != tape.FactsBefore || before.URL != "http://h:1" {
		t.Errorf("%+v", before)
	}
	want["/get_server_info version"], want["/get_server_info tp_size"], want["/get_model_info weight_version"] = "0.6", "4", "2"
	if d := cmp.Diff(want, after.Facts); d != "" || after.Version != "0.6" {
		t.Error(d)
	}
	if n := len(s.asked); n != 2+3+3 {
		t.Errorf("%d GETs: %q", n, s.asked)
	}
}

// A server that is gone after the run, and one endpoint that is.
func TestWitnessOfTheGone(t *testing.T) {
	s := &speaker{says: map[string][]string{"/v1/models": {list, list, "!"}, "/get_server_info": {`{"version":"1"}`}}}
	before, after := witness(t, s)
	if !before.OK || after.OK || after.Failed["/v1/models"] != "connection refused" || len(after.Facts) != 0 {
		t.Errorf("%+v", after)
	}
	s = &speaker{says: map[string][]string{"/v1/models": {list}, "/get_server_info": {`{"version":"1"}`, `{"version":"1"}`, "!"}}}
	if _, after = witness(t, s); !after.OK || after.Failed["/get_server_info"] == "" || after.Facts["/v1/models m.max_model_len"] != "4096" {
		t.Errorf("%+v", after)
	}
	// What gives no answer before is asked once.
	s = &speaker{says: map[string][]string{"/v1/models": {`{"data":[{"id":"m"}]}`}, "/get_server_info": {"!"}, "/server_info": {"!"}}}
	if _, after = witness(t, s); len(after.Failed) != 0 {
		t.Errorf("%+v", after)
	}
	if n := len(s.asked); n != 3+1+1 {
		t.Errorf("%d GETs: %q", n, s.asked)
	}
}

// What a hostile server says stays bounded, on one line, and without the key.
func TestHostileFacts(t *testing.T) {
	many := map[string]any{"version": "1", "zz_top": "kept"}
	for i := range 10_000 {
		many[fmt.Sprintf("k%05d", i)] = map[string]any{"x": i}
	}
	wide, _ := json.Marshal(many)
	deep := strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000)
	for name, text := range map[string]string{
		"10,000 keys": string(wide), "deep": deep, "deeper than any": strings.Repeat("[", 20_000), "1 MB of text": `{"t":"` + strings.Repeat("x", 1<<20) + `"}`,
		"a long key": `{"` + strings.Repeat("k", 1<<16) + `":1}`, "controls": `{"a\u001b[2J\nb":"c\u001b[2J\u202e"}`, "no JSON": "\x00\xff" + strings.Repeat("x", 1<<16), "a number": "7",
		"the key": `{"a":` + quote(key) + `,"b":[` + quote(key) + `],"` + strings.ReplaceAll(key, `"`, `\"`) + `":1,"list":{"c":` + quote("x "+key) + `}}`, "empty": "", "lists": strings.Repeat("[[1],", 5000) + "1" + strings.Repeat("]", 5000),
		"secrets under names": `{"password":"hush-1","nested":{"auth_token":{"deep":["hush-2"]}},"ssl_keyfile":"hush-3"}`,
	} {
		before, after := witness(t, &speaker{says: map[string][]string{"/v1/models": {list}, "/get_server_info": {text}}})
		for _, f := range []*tape.ServerFacts{before, after} {
			if len(f.Facts) > maxFacts || len(f.Moving) > maxMoving {
				t.Errorf("%s: %d facts, %d volatile", name, len(f.Facts), len(f.Moving))
			}
			b, err := json.Marshal(f)
			if err != nil || len(b) > 256<<10 {
				t.Errorf("%s: %d bytes, %v", name, len(b), err)
			}
			all := strings.Join(slices.Concat(slices.Collect(maps.Keys(f.Facts)), slices.Collect(maps.Values(f.Facts)), f.Moving), "\n")
			if strings.ContainsAny(strings.ReplaceAll(all, "\n", ""), "\x00\x1b\r\u202e") || strings.Contains(all, key[:12]) || strings.Contains(all, "hush-") {
				t.Errorf("%s: %q", name, all)
			}
		}
		if d := cmp.Diff(before.Facts, after.Facts); d != "" {
			t.Errorf("%s: the same answer differs: %s", name, d)
		}
		if name == "10,000 keys" && (before.Facts["/get_server_info zz_top"] != "kept" || before.Left == 0) {
			t.Errorf("%s: %d left, and what stands on top is not kept", name, before.Left)
		}
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func TestVolatile(t *testing.T) {
	for name, want := range map[string]bool{
		"/x uptime_s": true, "/x a.b.timestamp": true, "/x num_running_reqs": true, "/x gpu_memory_used": true, "/x slots_idle": true, "/x m.created": true,
		"/x internal_states[0].last_gen_throughput": true, "/x load": true, "/x status": true, "/x avg_spec_accept_length": true,
		"/x max_running_requests": false, "/x load_format": false, "/x tp_size": false, "/x start_time": false, "/x pid": false, "/x watchdog_timeout": false,
		"/x log_requests": false, "/x num_continuous_decode_steps": false, "/x mem_fraction_static": false, "/x served_model_name": false, "/x effective_max_running_requests": false, "/x free_slots": true, "/x enable_metrics": false, "/x started_at": false, "/x version": false, "/x": false,
	} {
		if got := volatile(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
