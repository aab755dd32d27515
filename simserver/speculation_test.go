package simserver

import (
	"encoding/json"
	"strings"
	"testing"
)

// Counts of speculation are those of the engine's steps; what is switched off is
// told nowhere, nor in a ratio made of it.
func TestSpeculationIsTold(t *testing.T) {
	type details struct {
		Verify    *int64   `json:"spec_verify_ct"`
		Length    *float64 `json:"spec_accept_length"`
		Rate      *float64 `json:"spec_accept_rate"`
		Accepted  *int64   `json:"spec_num_correct_drafts"`
		Proposed  *int64   `json:"spec_num_proposed_drafts"`
		Histogram []int64  `json:"spec_correct_drafts_histogram"`
	}
	for _, tc := range []struct{ usage, verify bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		for _, path := range []string{"/generate", "/v1/chat/completions"} {
			s := newServer(t, quick(func(o *Options) {
				o.TokensPerEvent, o.AcceptRate, o.SpecUsage, o.SpecVerify = 4, 0.6, tc.usage, tc.verify
			}))
			body := `{"text":"hello there","sampling_params":{"max_new_tokens":50,"ignore_eos":true}}`
			if path != "/generate" {
				body = `{"messages":[{"role":"user","content":"hello there"}],"max_tokens":50,"ignore_eos":true,"return_spec_tokens_details":true}`
			}
			w := do(s, "POST", path, body)
			var got struct {
				Meta details `json:"meta_info"`
				Ext  struct {
					Details details `json:"spec_tokens_details"`
				} `json:"sglext"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			d := got.Meta
			if path != "/generate" {
				d = got.Ext.Details
			}
			if (d.Verify != nil) != tc.verify || (d.Length != nil) != tc.verify || (d.Accepted != nil) != tc.usage || (d.Rate != nil) != tc.usage ||
				(d.Histogram != nil) != (tc.usage && tc.verify) || !tc.usage && !tc.verify && strings.Contains(w.Body.String(), "spec") {
				t.Fatalf("%+v %s: %s", tc, path, w.Body)
			}
			if !tc.usage || !tc.verify {
				continue
			}
			var steps, accepted int64
			for j, n := range d.Histogram {
				steps, accepted = steps+n, accepted+int64(j)*n
			}
			made := 0
			for _, n := range s.Trace()[0].Tokens {
				made += int(n)
			}
			if steps != *d.Verify || accepted != *d.Accepted || *d.Proposed != 3*steps || made != 50 || 1+steps+accepted != 50 {
				t.Errorf("%s: %d tokens of %+v: %s", path, made, s.Trace()[0].Tokens, w.Body)
			}
		}
	}
}
