package importer

import (
	"encoding/json"
	"fmt"

	"tokentape/internal/secret"
	"tokentape/tape"
)

// Run is what the file says of the run as a whole.
type Run struct {
	Tool     string // as the tape names it: "vllm"
	Path     string // as the user gave it
	SHA256   string // of what was read, hex: the same file makes the same tape
	Name     string // of the run; "": the tool's
	Model    string
	API      string  // as our specs name it; "": not known
	Wall     string  // the epoch in RFC 3339; "": not known
	Stream   bool    // answers were streams
	Cap      int64   // requests in flight at most; 0: none, or not known
	Rate     float64 // requests a second; 0: none
	Arrivals string  // "poisson"; "": not known
	// Untimed: the file does not say when requests were sent. Each one's times then
	// count from its own start.
	Untimed bool
	Notes   []string // what was not recorded, for people
	Writer  tape.Tool
}

// Summary says what was imported.
type Summary struct {
	Requests, OK int64
	Untimed      bool
	Notes        []string
}

// Write makes a tape of the requests, which are in order and numbered here. Errors:
// a request that breaks the rules of a tape, by its index, and those of w.
func (r *Run) Write(w *tape.Writer, requests []*tape.Request) (*Summary, error) {
	load := map[string]any{"requests": len(requests)}
	if r.Cap > 0 {
		load["concurrency"] = r.Cap
	}
	if r.Rate > 0 {
		load["rate"] = r.Rate
	}
	if r.Arrivals != "" {
		load["arrivals"] = r.Arrivals
	}
	target := map[string]any{}
	if r.API != "" {
		target["api"] = r.API
	}
	name := r.Name
	if name == "" {
		name = r.Tool
	}
	spec, err := json.Marshal(map[string]any{
		"name": name, "target": target, "workload": map[string]any{"stream": r.Stream}, "load": load,
	})
	if err != nil {
		return nil, err
	}
	err = w.Write(&tape.Header{
		Type: "header", Schema: tape.Schema, Run: r.Tool + "-" + r.SHA256[:10], Name: name, Tool: r.Writer,
		Anchor: tape.Anchor{Wall: r.Wall, Clock: "monotonic", ReadStamp: "import"}, Spec: spec,
		Plan: tape.PlanRef{Rows: int64(len(requests)), Kind: "rows"}, Server: tape.Server{Model: r.Model},
		Import: &tape.Import{Tool: r.Tool, Path: r.Path, Untimed: r.Untimed}, Notes: r.Notes,
	})
	if err != nil {
		return nil, err
	}
	s := &Summary{Requests: int64(len(requests)), Untimed: r.Untimed, Notes: r.Notes}
	foot := &tape.Footer{Type: "footer", Reason: tape.ReasonImported, Failed: map[string]int64{}}
	for i, q := range requests {
		q.Type, q.Seq = "request", int64(i)
		if err := q.Check(); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		if err := w.Write(q); err != nil {
			return nil, err
		}
		foot.TEnd = max(foot.TEnd, q.TEnd.V, q.TReleased.V)
		switch {
		case q.Phase != tape.PhaseMeasure:
			foot.Preparation++
			continue
		case q.Outcome == tape.OutcomeOK:
			foot.OK++
		case q.Outcome == tape.OutcomeCancelled:
			foot.Cancelled++
		default:
			foot.Failed[string(q.Outcome)]++
		}
		foot.Planned++
	}
	s.OK = foot.OK
	return s, w.Write(foot)
}

// Message is a text of others as it may stand on a tape: one line without control
// characters, bounded. (What was a secret there, nobody can know here.)
func Message(s string) string {
	var none *secret.Set
	return none.Line(s, 400)
}

// century bounds times: what is beyond is none.
const century = 100 * 366 * 86400

// nanoseconds reads a duration in units of scale nanoseconds. Errors: below 0, or
// longer than a century.
func nanoseconds(v, scale float64) (int64, error) {
	if !(v >= 0) || v*scale > century*1e9 {
		return 0, fmt.Errorf("a time of %v", v)
	}
	return int64(v*scale + 0.5), nil
}

// Stream lays the events of a stream behind the start of q, in units of scale
// nanoseconds: the first event after ttft, then a gap each. What they carried is
// taken to be text. It ends q at the last. Errors: a value that is no duration.
func Stream(q *tape.Request, start int64, ttft float64, gaps []float64, scale float64) error {
	q.TReleased = tape.Some(start)
	kinds := make([]byte, 0, len(gaps)+1)
	t := start
	// Sums of rounded gaps would drift from the tool's own: round the sums.
	sum := 0.0
	for i := range len(gaps) + 1 {
		v := ttft
		if i > 0 {
			v = gaps[i-1]
		}
		if _, err := nanoseconds(v, scale); err != nil {
			return fmt.Errorf("%w as the %d. of its gaps", err, i)
		}
		sum += v
		d, err := nanoseconds(sum, scale)
		if err != nil {
			return err
		}
		q.Events.DT = append(q.Events.DT, start+d-t)
		t = start + d
		kinds = append(kinds, tape.KindContent)
	}
	q.Events.Kind = tape.EncodeKinds(kinds)
	q.TFirstEvent = tape.Some(start + q.Events.DT[0])
	q.TFirstToken, q.TLastToken, q.TEnd = q.TFirstEvent, tape.Some(t), tape.Some(t)
	return nil
}
