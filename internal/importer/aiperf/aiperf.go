package aiperf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tokentape/internal/importer"
	"tokentape/tape"
)

// Tool is how tapes name AIPerf.
const Tool = "aiperf"

// record is what is read of a line.
type record struct {
	Metadata *struct {
		Session   int64  `json:"session_num"`
		ID        string `json:"x_request_id"`
		Together  string `json:"x_correlation_id"`
		Turn      int    `json:"turn_index"`
		Start     *int64 `json:"request_start_ns"` // since 1970
		End       *int64 `json:"request_end_ns"`
		Phase     string `json:"benchmark_phase"`
		Cancelled bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	} `json:"metrics"`
	Error *struct {
		Code    int    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// Write makes a tape of the records at path. Errors name the file and the line; what
// was written until then is no tape.
func Write(w *tape.Writer, path string, writer tape.Tool) (*importer.Summary, error) {
	var records []record
	sum, err := importer.Lines(path, func(_ int64, line []byte) error {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("no record of AIPerf, or torn: %w; it begins with %.60q", err, line)
		}
		if r.Metadata == nil || r.Metadata.Start == nil {
			return fmt.Errorf("no record of AIPerf: metadata.request_start_ns is missing; it begins with %.60q", line)
		}
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: no record in it", path)
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(*a.Metadata.Start, *b.Metadata.Start) })
	zero := *records[0].Metadata.Start
	talks := map[string]bool{}
	for i := range records {
		if m := records[i].Metadata; m.Turn > 0 {
			talks[m.Together] = true
		}
	}
	run := importer.Run{
		Tool: Tool, Path: path, SHA256: sum, Wall: time.Unix(0, zero).UTC().Format(time.RFC3339Nano), Writer: writer,
		Notes: []string{
			"imported from AIPerf: neither due times, connections, writes, attempts nor reasons of finishing were recorded: none of that was observed",
			"each chunk with content is taken for text: whether it was reasoning was not recorded",
			"limits of the load are not in the records: no cap is known",
		},
	}
	var requests []*tape.Request
	bare := 0
	for i := range records {
		q, streamed, err := records[i].request(zero)
		if err != nil {
			return nil, fmt.Errorf("%s: the request %s: %w", path, cmp.Or(records[i].Metadata.ID, fmt.Sprint(i)), err)
		}
		if m := records[i].Metadata; talks[m.Together] {
			q.Session = tape.Some(importer.Message(m.Together))
		}
		run.Stream = run.Stream || streamed
		if streamed && q.Events.IsZero() {
			bare++
		}
		requests = append(requests, q)
	}
	if bare > 0 {
		run.Notes = append(run.Notes, fmt.Sprintf("%d streams have no inter_chunk_latency: of them only E2E, to the end of the answer, is known here", bare))
	}
	if !run.Stream {
		run.Notes = append(run.Notes, "no time to first token is in the records: the answers are taken to have come in one piece")
	}
	s, err := run.Write(w, requests)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// request is the tape's line; streamed says that AIPerf saw a first token.
func (r *record) request(zero int64) (q *tape.Request, streamed bool, err error) {
	m := r.Metadata
	if m.Turn < 0 {
		return nil, false, fmt.Errorf("turn_index %d", m.Turn)
	}
	q = &tape.Request{
		ID: importer.Message(m.ID), Phase: tape.PhaseMeasure, Turn: m.Turn, Ref: tape.Ref{Row: max(0, m.Session)},
		Outcome: tape.OutcomeOK, TReleased: tape.Some(*m.Start - zero),
	}
	if m.Phase == "warmup" {
		q.Phase = tape.PhaseWarmup
	}
	if m.End != nil {
		if *m.End < *m.Start {
			return nil, false, errors.New("it ends before it starts")
		}
		q.TEnd = tape.Some(*m.End - zero)
	}
	if err := r.counts(q); err != nil {
		return nil, false, err
	}
	if r.Error != nil || m.Cancelled {
		r.failure(q)
		return q, false, nil
	}
	ttft, streamed, err := r.milliseconds("time_to_first_token")
	if err != nil {
		return nil, false, err
	}
	if !streamed {
		q.Flags = []string{"not_streamed"}
		return q, false, nil
	}
	var gaps []float64
	chunks, ok := r.Metrics["inter_chunk_latency"]
	if ok {
		if err := json.Unmarshal(chunks.Value, &gaps); err != nil || chunks.Unit != "ms" {
			return nil, false, fmt.Errorf("inter_chunk_latency is no list of ms: %.40q", chunks.Value)
		}
	} else if n := q.Tokens.Output; !n.OK || n.V != 1 { // one token is one chunk
		q.Flags = []string{"not_streamed"}
		return q, true, nil
	}
	end := q.TEnd
	if err := importer.Stream(q, q.TReleased.V, ttft, gaps, 1e6); err != nil {
		return nil, false, err
	}
	if end.OK { // stamps of two clocks: the later one is the end
		q.TEnd = tape.Some(max(end.V, q.TLastToken.V))
	}
	return q, true, nil
}

// failure tells how it ended as far as the error says.
func (r *record) failure(q *tape.Request) {
	q.Outcome = tape.OutcomeUnknown
	if e := r.Error; e != nil {
		q.Message = importer.Message(strings.TrimPrefix(e.Type+": "+e.Message, ": "))
		if e.Code >= 300 && e.Code <= 599 && e.Code != 499 { // which is its own for cancelled
			q.Outcome, q.HTTP.Status = tape.OutcomeStatus, e.Code
		}
		if strings.Contains(strings.ToLower(e.Type), "timeout") {
			q.Outcome, q.Cause = tape.OutcomeTimeout, "total"
		}
	}
	if r.Metadata.Cancelled {
		q.Outcome = tape.OutcomeCancelled
	}
}

// counts reads the numbers of tokens.
func (r *record) counts(q *tape.Request) error {
	for _, c := range []struct {
		name   string
		to     *tape.Opt[int64]
		source *string
	}{
		{"input_sequence_length", &q.Tokens.Input, &q.Tokens.InputSource},
		{"output_sequence_length", &q.Tokens.Output, &q.Tokens.OutputSource},
		{"reasoning_token_count", &q.Tokens.Reasoning, nil},
	} {
		v, ok := r.Metrics[c.name]
		if !ok || string(v.Value) == "null" {
			continue
		}
		var n float64
		if err := json.Unmarshal(v.Value, &n); err != nil || n < 0 || n != float64(int64(n)) {
			return fmt.Errorf("%s is no count: %.40q", c.name, v.Value)
		}
		*c.to = tape.Some(int64(n))
		if c.source != nil {
			*c.source = tape.SourceTool
		}
	}
	return nil
}

// milliseconds reads a metric of one value in ms; ok is false where there is none.
func (r *record) milliseconds(name string) (v float64, ok bool, err error) {
	m, ok := r.Metrics[name]
	if !ok || string(m.Value) == "null" {
		return 0, false, nil
	}
	if err := json.Unmarshal(m.Value, &v); err != nil || m.Unit != "ms" {
		return 0, false, fmt.Errorf("%s is no time in ms: %.40q %q", name, m.Value, m.Unit)
	}
	return v, true, nil
}
