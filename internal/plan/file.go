package plan

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tokentape/tape"
)

// Schema names the saved form: a header line, then one Row a line. Any change
// to what a field means, or a new field, gets a new number.
const Schema = "tokentape.plan/1"

const schemaName = "tokentape.plan/"

// header is the first line of a saved plan.
type header struct {
	Schema        string `json:"schema"`
	Kind          string `json:"kind"`
	Rows          int64  `json:"rows"` // lines that follow; 0 for a generator
	DatasetSHA256 string `json:"dataset_sha256"`
	Load          Params `json:"load"`
}

// Write saves the plan as JSON lines. A generator is saved as its parameters.
func (p *Plan) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	head, err := json.Marshal(header{Schema, p.Kind, int64(len(p.rows)), p.DatasetSHA256, p.Params})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	b.Write(append(head, '\n'))
	line := make([]byte, 0, 128)
	for i := range p.rows {
		r, _ := p.At(int64(i))
		if _, err := b.Write(r.append(line)); err != nil {
			return err
		}
	}
	return b.Flush()
}

// append is the line that json.Marshal would make of r, several times faster.
func (r Row) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"seq":`...), r.Seq, 10)
	b = strconv.AppendInt(append(b, `,"due":`...), r.Due, 10)
	b = strconv.AppendInt(append(b, `,"item":`...), r.Item, 10)
	if r.Output != 0 {
		b = strconv.AppendInt(append(b, `,"output":`...), r.Output, 10)
	}
	b = append(append(append(b, `,"phase":"`...), r.Phase...), '"')
	if r.Stripe != 0 {
		b = strconv.AppendInt(append(b, `,"stripe":`...), int64(r.Stripe), 10)
	}
	if r.Session != 0 {
		b = strconv.AppendInt(append(b, `,"session":`...), r.Session, 10)
	}
	if r.Turn != 0 {
		b = strconv.AppendInt(append(b, `,"turn":`...), int64(r.Turn), 10)
	}
	if r.Think != 0 {
		b = strconv.AppendInt(append(b, `,"think":`...), r.Think, 10)
	}
	return append(b, "}\n"...)
}

// SHA256 is the hash, in hex, of the bytes that Write writes.
func (p *Plan) SHA256() string {
	h := sha256.New()
	_ = p.Write(h) // a hash takes every write, and the header always marshals
	return hex.EncodeToString(h.Sum(nil))
}

// ReadFile is Read of a file; its errors begin with path:line.
func ReadFile(path string) (*Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer f.Close()
	return read(f, path)
}

// Read reads a saved plan and checks it: seq counts from 0, due times never
// fall, warm-up rows stand before measured ones, items are rows of the dataset,
// and as many lines follow as the header says. Errors say which line.
func Read(r io.Reader) (*Plan, error) { return read(r, "plan") }

const maxLine = 64 << 10

func read(r io.Reader, name string) (*Plan, error) {
	in := bufio.NewReaderSize(r, maxLine)
	n := int64(0)
	fail := func(format string, args ...any) (*Plan, error) {
		return nil, fmt.Errorf("%s:%d: "+format, append([]any{name, n}, args...)...)
	}
	var p *Plan
	var head header
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		n++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fail("the line is longer than %d bytes, so this is no saved plan", maxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if n == 1 {
			if head, err = readHeader(line); err != nil {
				return fail("%w", err)
			}
			if p, err = newFromHeader(head); err != nil {
				return fail("%w", err)
			}
			continue
		}
		if n-1 > head.Rows {
			return fail("the header says %d rows, but more follow", head.Rows)
		}
		var row Row
		if err := strict(line, &row, "seq", "due", "item", "phase"); err != nil {
			return fail("%w", err)
		}
		if err := p.add(row); err != nil {
			return fail("%w", err)
		}
	}
	switch {
	case n == 0:
		return nil, fmt.Errorf("%s: the file is empty; a saved plan begins with a header line", name)
	case n-1 < head.Rows:
		return fail("the header says %d rows, but the file ends after %d: it was cut short", head.Rows, n-1)
	case p.Kind == KindRows && int64(len(p.rows)) == p.warmup:
		return fail("the plan has no measured row")
	}
	return p, nil
}

func readHeader(line []byte) (header, error) {
	var name struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &name); err != nil || !strings.HasPrefix(name.Schema, schemaName) {
		return header{}, fmt.Errorf("not a saved plan: its first line has no schema %q", Schema)
	}
	if name.Schema != Schema {
		return header{}, fmt.Errorf("the plan has schema %s, this tokentape reads %s; plan again, or use the version that wrote it", name.Schema, Schema)
	}
	var h header
	err := strict(line, &h, "kind", "rows", "load")
	return h, err
}

// newFromHeader makes the plan without its rows; a generator whole.
func newFromHeader(h header) (*Plan, error) {
	generator := h.Load.generator()
	switch {
	case h.Kind != KindRows && h.Kind != KindGenerator:
		return nil, fmt.Errorf("kind %q is neither %s nor %s", h.Kind, KindRows, KindGenerator)
	case generator != (h.Kind == KindGenerator):
		return nil, fmt.Errorf("kind %q does not fit the load: a plan is a generator when there is neither a rate nor a number of requests", h.Kind)
	case generator && h.Rows != 0:
		return nil, fmt.Errorf("a generator has no rows, the header says %d", h.Rows)
	case h.Rows < 0 || h.Rows > MaxRows:
		return nil, fmt.Errorf("%d rows is not between 1 and %d", h.Rows, MaxRows)
	}
	var p *Plan
	var err error
	if generator {
		p, err = fromParams(h.Load, Data{})
	} else if err = h.Load.check(); err == nil {
		// Not all at once: the header may claim what the file does not hold.
		p = &Plan{Kind: KindRows, Params: h.Load, order: newOrder(h.Load), mix: newMixer(h.Load), rows: make([]row, 0, min(h.Rows, 1<<20))}
	}
	if err != nil {
		return nil, err
	}
	p.DatasetSHA256 = h.DatasetSHA256
	return p, nil
}

// add takes a row that was read, after checking that it fits the ones before.
func (p *Plan) add(r Row) error {
	n := int64(len(p.rows))
	warm := r.Phase == tape.PhaseWarmup
	switch {
	case r.Seq != n:
		return fmt.Errorf("seq is %d where %d comes next", r.Seq, n)
	case !warm && r.Phase != tape.PhaseMeasure:
		return fmt.Errorf("phase %q is neither %s nor %s", r.Phase, tape.PhaseWarmup, tape.PhaseMeasure)
	case warm && n > p.warmup:
		return errors.New("a warm-up row stands after a measured one")
	case r.Item < 0 || r.Item >= p.Params.DataRows:
		return fmt.Errorf("item %d is not among the %d rows of the dataset (0 is the first)", r.Item, p.Params.DataRows)
	case r.Output < 0:
		return fmt.Errorf("output %d is negative", r.Output)
	case r.Stripe < 0 || r.Stripe > 1<<20:
		return fmt.Errorf("stripe %d is not between 0 and %d", r.Stripe, 1<<20)
	case p.Params.Sessions != (r.Session > 0):
		return fmt.Errorf("session is %d, which does not fit the load", r.Session)
	case r.Turn > 0 && r.Due != NoDue:
		return fmt.Errorf("due is %d, but turn %d is due after the answer to the one before (%d)", r.Due, r.Turn, NoDue)
	case r.Turn > 0:
	case !p.Params.Open() && r.Due != NoDue:
		return fmt.Errorf("due is %d, but rows of a closed loop have no due time (%d)", r.Due, NoDue)
	case p.Params.Open() && (r.Due < 0 || r.Due > maxDue):
		return fmt.Errorf("due is %d ns, which is not between 0 and 100 years", r.Due)
	case n == 0 && r.Due > 0:
		return fmt.Errorf("due is %d, but the first row is due at 0", r.Due)
	case r.Due < p.lastDue():
		return fmt.Errorf("due %d is before the row above (%d)", r.Due, p.lastDue())
	}
	if p.Params.Sessions {
		if err := p.addTalk(r); err != nil {
			return err
		}
	} else if r.Turn != 0 || r.Think != 0 {
		return fmt.Errorf("turn %d and think %d stand in no session", r.Turn, r.Think)
	}
	if warm {
		p.warmup++
	}
	p.rows = append(p.rows, row{due: r.Due, item: r.Item, output: r.Output, stripe: int32(r.Stripe), warmup: warm})
	return nil
}

// lastDue is the due time of the last row that has one, at least NoDue.
func (p *Plan) lastDue() int64 {
	for i := len(p.rows) - 1; i >= 0; i-- {
		if d := p.rows[i].due; d != NoDue || p.talks == nil || p.talks[i].turn == 0 {
			return d
		}
	}
	return NoDue
}

// strict decodes one line into v: an object, no unknown field, nothing after it,
// and the required fields there.
func strict(line []byte, v any, required ...string) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the line is empty")
		}
		return fmt.Errorf("the line cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object on its line")
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(line, &have); err != nil {
		return fmt.Errorf("the line is no object: %s", firstBytes(line))
	}
	for _, f := range required {
		if raw, ok := have[f]; !ok || string(raw) == "null" {
			return fmt.Errorf("the field %q is missing", f)
		}
	}
	return nil
}

func firstBytes(b []byte) string {
	if len(b) > 60 {
		b = b[:60]
	}
	return strconv.Quote(string(b))
}
