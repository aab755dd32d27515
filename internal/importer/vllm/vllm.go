package vllm

import (
	"encoding/json"
	"fmt"
	"time"

	"tokentape/internal/importer"
	"tokentape/tape"
)

// Tool is how tapes name vLLM's client.
const Tool = "vllm"

// apis are ours by the names of its backends.
var apis = map[string]string{
	"openai-chat": "openai-chat", "openai": "openai-completions", "vllm": "openai-completions", "openai-completions": "openai-completions",
}

// result is what is read of a file.
type result struct {
	importer.Arrays
	Date       string   `json:"date"`
	Backend    string   `json:"backend"`
	Endpoint   string   `json:"endpoint_type"`
	Label      string   `json:"label"`
	Model      string   `json:"model_id"`
	Rate       any      `json:"request_rate"`
	Burstiness *float64 `json:"burstiness"`
	Cap        *int64   `json:"max_concurrency"`
}

// Write makes a tape of the result file at path; number says which of several in it
// (--append-result), counted from 1; 0: there must be one. Errors name the file and
// the list that makes no sense; what was written until then is no tape.
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
		return nil, fmt.Errorf("%s: not a result of vLLM's client: %w", path, err)
	}
	if err := r.Check("--save-detailed"); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	requests, err := r.Requests()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run := importer.Run{
		Tool: Tool, Path: path, SHA256: importer.SHA256(raw), Name: r.Label, Model: r.Model, Stream: true,
		Rate: importer.Rate(r.Rate), Untimed: r.Starts == nil, Writer: writer,
		Notes: []string{"imported from vLLM's client: " + importer.NoteWrites, importer.NoteEvents, importer.NoteEnd},
	}
	if run.API = apis[r.Backend]; run.API == "" {
		run.API = apis[r.Endpoint]
	}
	if r.Cap != nil {
		run.Cap = *r.Cap
	}
	if run.Rate > 0 && r.Burstiness != nil && *r.Burstiness == 1 {
		run.Arrivals = "poisson"
	}
	// The date is of the machine's own zone, which is not said.
	if t, err := time.Parse("20060102-150405", r.Date); err == nil {
		run.Notes = append(run.Notes, "written by the client at "+t.Format("2006-01-02 15:04:05")+" of its machine's time")
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
