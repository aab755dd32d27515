package sglang

import (
	"encoding/json"
	"fmt"

	"tokentape/internal/importer"
	"tokentape/tape"
)

// Tool is how tapes name SGLang's client.
const Tool = "sglang"

// apis are ours by the names of its backends.
var apis = map[string]string{
	"sglang": "sglang-generate", "sglang-native": "sglang-generate", "sglang-oai": "openai-completions", "vllm": "openai-completions", "lmdeploy": "openai-completions",
	"sglang-oai-chat": "openai-chat", "vllm-chat": "openai-chat", "lmdeploy-chat": "openai-chat",
}

// result is what is read of a line.
type result struct {
	importer.Arrays
	Tag     string `json:"tag"`
	Backend string `json:"backend"`
	Rate    any    `json:"request_rate"`
	Cap     *int64 `json:"max_concurrency"`
	Server  struct {
		Model string `json:"model_path"`
	} `json:"server_info"`
}

// Write makes a tape of the result file at path; number says which of its lines,
// counted from 1; 0: there must be one. Errors name the file and the list that makes
// no sense; what was written until then is no tape.
func Write(w *tape.Writer, path string, number int, writer tape.Tool) (*importer.Summary, error) {
	values, err := importer.Values(path)
	if err != nil {
		return nil, err
	}
	raw, err := importer.Pick(values, number, path)
	if err != nil {
		return nil, err
	}
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%s: not a result of SGLang's client: %w", path, err)
	}
	if err := r.Check("--output-details"); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	requests, err := r.Requests()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run := importer.Run{
		Tool: Tool, Path: path, SHA256: importer.SHA256(raw), Name: r.Tag, Model: r.Server.Model, API: apis[r.Backend], Stream: true,
		Rate: importer.Rate(r.Rate), Untimed: r.Starts == nil, Writer: writer,
		Notes: []string{"imported from SGLang's client: " + importer.NoteWrites, importer.NoteEvents, importer.NoteEnd},
	}
	if run.Rate > 0 {
		run.Arrivals = "poisson" // the only spacing that it has
	}
	if r.Cap != nil {
		run.Cap = *r.Cap
	}
	if run.Untimed {
		run.Notes = append(run.Notes, importer.NoteStarts)
	}
	s, err := run.Write(w, requests)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
