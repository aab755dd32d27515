package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"tokentape/tape"
)

// endpoint is a GET that engines answer about themselves, without side effect.
type endpoint struct {
	path string
	// of are the engines that have it, as the model list names them; "": who serves
	// is not known. Others are asked by Look.All only.
	of []string
	// read takes what the answer says, url being where it came from. It reports
	// whether that is an answer of this endpoint.
	read func(res *Result, body []byte, url string) bool
}

var endpoints = []endpoint{
	{"/get_server_info", []string{"", "sglang"}, sglangInfo},
	{"/server_info", []string{"", "sglang"}, sglangInfo},
	{"/server_info", nil, vllmInfo},
	{"/props", []string{"llamacpp"}, llamaProps},
	{"/api/version", []string{"ollama"}, ollamaVersion},
	{"/info", nil, tgiInfo},
	{"/version", []string{"vllm"}, version},
}

// engine finds out who serves.
func (l *look) engine(ctx context.Context, list []card) {
	s := &l.res.Server
	if len(list) > 0 {
		switch owner := list[0].OwnedBy; owner {
		case "sglang", "vllm", "llamacpp":
			s.Engine = owner
		case "library":
			s.Engine = "ollama"
		}
	}
	owner, asked := s.Engine, map[string][]byte{}
	var all span
	from := ""
	for _, e := range endpoints {
		if ctx.Err() != nil || from != "" && s.Engine != "" && owner != "vllm" {
			break
		}
		if !e.asks(owner, l.All) {
			continue
		}
		url := l.Base.Join(e.path)
		body, ok := asked[url]
		if !ok {
			got, at, err := l.get(ctx, url, engineLimit)
			if all.from == 0 {
				all.from = at.from
			}
			if all.to = at.to; err == nil && got.Status == http.StatusOK {
				body = got.Body
			}
			asked[url] = body
		}
		if body != nil && e.read(l.res, body, url) {
			from = join(", ", from, "GET "+url)
		}
	}
	if e := l.res.Entry; e.Kind != "" && e.Kind != tape.EntryUnified {
		l.res.Notes = append(l.res.Notes, NotUnified(e))
	}
	if l.Now == nil {
		return
	}
	st := all.step("engine", tape.StepOK)
	st.Seen = join(" ", s.Engine, s.Version)
	switch {
	case from != "":
		st.Seen = join(" ", st.Seen, "("+from+")")
	case s.Engine != "":
		st.Seen += " (owned_by of its model list)"
	default:
		st.Result, st.Seen = tape.StepNone, "no endpoint says who serves; asked: "+strings.Join(slices.Sorted(maps.Keys(asked)), ", ")
	}
	if n := l.res.Context.Tokens; n > 0 {
		st.Seen += fmt.Sprintf("; context %d tokens (%s)", n, l.res.Context.From)
	}
	if e := l.res.Entry; e.Kind != "" {
		if st.Seen += "; " + e.Kind + " (" + e.From + ")"; e.Kind != tape.EntryUnified {
			st.Seen, st.Do = st.Seen+"; "+NotUnified(e), "give the address of the router or load balancer before the workers as target.url"
		}
	}
	l.res.Steps = append(l.res.Steps, st)
}

// asks reports whether an endpoint is asked of a server whose list names this owner.
func (e endpoint) asks(owner string, all bool) bool {
	return slices.Contains(e.of, owner) || all && (owner == "" || owner == "vllm" && e.of == nil && e.path == "/server_info")
}

// NotUnified says that a worker was addressed.
func NotUnified(e Entry) string {
	what := e.Kind + " worker"
	if e.Kind == tape.EntryWorker {
		what = "prefill or decode worker"
	}
	return fmt.Sprintf(tape.NoteNotEntry+": it is a %s of a disaggregated service (%s)", what, e.From)
}

// sglangInfo reads SGLang's server arguments, or what its load balancer of a
// disaggregated service says of the workers behind it.
func sglangInfo(res *Result, body []byte, url string) bool {
	var info struct {
		Version string            `json:"version"`
		Length  json.RawMessage   `json:"context_length"` // null: the model's own
		Cuts    bool              `json:"allow_auto_truncate"`
		Mode    string            `json:"disaggregation_mode"`
		Prefill []json.RawMessage `json:"prefill"`
		Decode  []json.RawMessage `json:"decode"`
		VLLM    json.RawMessage   `json:"vllm_config"`
	}
	if json.Unmarshal(body, &info) != nil || info.VLLM != nil {
		return false
	}
	res.Server.Engine, res.Server.Version, res.Context.Cuts = "sglang", info.Version, info.Cuts
	if n := positive(info.Length); n > 0 && res.Context.Tokens == 0 {
		res.Context.Tokens, res.Context.From = n, "context_length of GET "+url
	}
	switch {
	case info.Mode == tape.EntryPrefill || info.Mode == tape.EntryDecode:
		res.Entry = Entry{info.Mode, "disaggregation_mode of GET " + url}
	case info.Mode == "null":
		res.Entry = Entry{tape.EntryUnified, "disaggregation_mode of GET " + url}
	case len(info.Prefill) > 0 && len(info.Decode) > 0:
		res.Entry = Entry{tape.EntryUnified, fmt.Sprintf("GET %s names %d prefill and %d decode workers behind it", url, len(info.Prefill), len(info.Decode))}
	}
	return true
}

// version reads what several engines answer; it does not say which.
func version(res *Result, body []byte, _ string) bool {
	var v struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &v) != nil || v.Version == "" {
		return false
	}
	res.Server.Version = v.Version
	return true
}

// kvRole is how vLLM writes its part in a disaggregated service, in text or JSON.
var kvRole = regexp.MustCompile(`kv_role["']?\s*[=:]\s*["'](kv_producer|kv_consumer|kv_both)["']`)

// vllmInfo reads vLLM's configuration, which it shows in development mode alone.
func vllmInfo(res *Result, body []byte, url string) bool {
	var info struct {
		VLLM json.RawMessage `json:"vllm_config"`
	}
	if json.Unmarshal(body, &info) != nil || info.VLLM == nil {
		return false
	}
	res.Server.Engine = "vllm"
	text := bytes.ReplaceAll(info.VLLM, []byte(`\"`), []byte(`"`))
	if m := kvRole.FindSubmatch(text); m != nil {
		kind := map[string]string{"kv_producer": tape.EntryPrefill, "kv_consumer": tape.EntryDecode}[string(m[1])]
		if kind != "" {
			res.Entry = Entry{kind, fmt.Sprintf("kv_role %s of GET %s", m[1], url)}
		}
	}
	return true
}

func llamaProps(res *Result, body []byte, url string) bool {
	var p struct {
		Build    string          `json:"build_info"`
		Slots    json.RawMessage `json:"total_slots"`
		Defaults struct {
			Context json.RawMessage `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &p) != nil || p.Build == "" && p.Slots == nil && p.Defaults.Context == nil {
		return false
	}
	res.Server.Engine, res.Server.Version = "llamacpp", p.Build
	if n := positive(p.Defaults.Context); n > 0 && res.Context.Tokens == 0 {
		res.Context.Tokens, res.Context.From = n, "n_ctx of GET "+url
	}
	return true
}

func ollamaVersion(res *Result, body []byte, url string) bool {
	if !version(res, body, url) {
		return false
	}
	res.Server.Engine = "ollama"
	return true
}

func tgiInfo(res *Result, body []byte, url string) bool {
	var info struct {
		Model   string          `json:"model_id"`
		Version string          `json:"version"`
		Total   json.RawMessage `json:"max_total_tokens"`
	}
	if json.Unmarshal(body, &info) != nil || info.Model == "" || info.Version == "" {
		return false
	}
	res.Server.Engine, res.Server.Version = "tgi", info.Version
	if n := positive(info.Total); n > 0 && res.Context.Tokens == 0 {
		res.Context.Tokens, res.Context.From = n, "max_total_tokens of GET "+url
	}
	return true
}
