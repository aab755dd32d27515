package synth

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Expected is what the rows of a built set are to find in the prefix cache.
type Expected struct {
	Manifest        // without its Rows
	SHA256   string // of the manifest file, hex

	cached []int32
	groups []int32
	sums   []uint64 // the first 8 bytes of each row's SHA-256
	seeded []int32  // the groups of the preparation's rows
}

// Zero reports that no prompt was built to begin as another.
func (x *Expected) Zero() bool { return !x.Params.cached() }

// Of is the number of tokens that a row of the set (0-based) finds; not ok for a row
// whose bytes (SHA-256 in hex, "" for any) are not those of the set.
func (x *Expected) Of(row int64, sha256 string) (tokens int64, ok bool) {
	if row < 0 || row >= int64(len(x.cached)) || sha256 != "" && head64(sha256) != x.sums[row] {
		return 0, false
	}
	return int64(x.cached[row]), true
}

// Group is the group of prompts that a row of the set (0-based) belongs to; not ok
// as in Of, and for a row of none.
func (x *Expected) Group(row int64, sha256 string) (group int64, ok bool) {
	if _, ok := x.Of(row, sha256); !ok || x.groups[row] < 0 {
		return 0, false
	}
	return int64(x.groups[row]), true
}

// Seeded is the group whose prefix a row of the set's preparation (0-based) holds.
func (x *Expected) Seeded(row int64) (group int64, ok bool) {
	if x.Prepare == nil || row < 0 || row >= int64(len(x.seeded)) {
		return 0, false
	}
	return int64(x.seeded[row]), true
}

func head64(sum string) (n uint64) {
	b, err := hex.DecodeString(sum)
	if err != nil || len(b) < 8 {
		return 0
	}
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}

// ReadExpected reads a manifest one row at a time, and keeps 16 bytes of each. Its
// errors name the file; of a file that is not there errors.Is says fs.ErrNotExist.
func ReadExpected(path string) (*Expected, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	in := io.TeeReader(io.LimitReader(bufio.NewReaderSize(f, 1<<16), maxManifest), sum)
	x := &Expected{}
	if err := x.decode(json.NewDecoder(in)); err != nil {
		return nil, fmt.Errorf("%s is no manifest of tokentape dataset build: %w", path, err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	x.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return x, nil
}

func (x *Expected) decode(d *json.Decoder) error {
	want := func(delim json.Delim) error {
		t, err := d.Token()
		if err == nil && t != delim {
			err = fmt.Errorf("%v where %v is expected", t, delim)
		}
		return err
	}
	if err := want('{'); err != nil {
		return err
	}
	head := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "rows" {
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				return err
			}
			head[fmt.Sprint(key)] = v
			continue
		}
		if err := want('['); err != nil {
			return err
		}
		for d.More() {
			var r RowFacts
			if err := d.Decode(&r); err != nil {
				return err
			}
			if r.Row != len(x.cached) || r.Expected < 0 || r.Expected > r.Templated {
				return fmt.Errorf("row %d where %d comes next, with %d of its %d tokens expected in the cache", r.Row, len(x.cached), r.Expected, r.Templated)
			}
			x.cached = append(x.cached, int32(r.Expected))
			x.groups = append(x.groups, int32(r.Group))
			x.sums = append(x.sums, head64(r.SHA256))
		}
		if err := want(']'); err != nil {
			return err
		}
	}
	if err := want('}'); err != nil {
		return err
	}
	x.seeded = slices.DeleteFunc(slices.Clone(x.groups), func(g int32) bool { return g < 0 })
	slices.Sort(x.seeded)
	x.seeded = slices.Compact(x.seeded)
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &x.Manifest); err != nil {
		return err
	}
	switch {
	case x.Schema != ManifestSchema:
		return fmt.Errorf("schema %q is not %s, which this version reads", x.Schema, ManifestSchema)
	case len(x.cached) != x.Data.Rows:
		return fmt.Errorf("it counts %d rows and lists %d", x.Data.Rows, len(x.cached))
	case len(x.cached) == 0:
		return errors.New("it has no rows")
	}
	return nil
}
