package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Holds reports whether dir is the folder of a sweep or a search.
func Holds(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, File))
	return err == nil && st.Mode().IsRegular()
}

// Read reads the manifest of a folder, and refuses one that another version wrote or
// that names files outside the folder.
func Read(dir string) (*Manifest, error) {
	path := filepath.Join(dir, File)
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no %s in it, so it is not the folder of a sweep", dir, File)
		}
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Schema != Schema {
		return nil, fmt.Errorf("%s: its schema is %q, and this version reads %q", path, m.Schema, Schema)
	}
	switch {
	case m.Kind != "sweep" && m.Kind != "search":
		return nil, fmt.Errorf("%s: its kind is %q, neither sweep nor search", path, m.Kind)
	case len(m.Fields) == 0:
		return nil, fmt.Errorf("%s: it names no field that varies", path)
	case len(m.Points) == 0 && m.Kind == "sweep": // a search may not have come to its first
		return nil, fmt.Errorf("%s: there are no points in it", path)
	}
	if m.Expected != "" && !filepath.IsLocal(m.Expected) {
		return nil, fmt.Errorf("%s: its expected values %q are outside the folder", path, m.Expected)
	}
	names := map[string]bool{}
	for i, p := range m.Points {
		switch {
		case p.Name == "" || filepath.Base(p.Name) != p.Name || names[p.Name]:
			return nil, fmt.Errorf("%s: points[%d]: %q is no name of its own", path, i, p.Name)
		case len(p.At) != len(m.Fields):
			return nil, fmt.Errorf("%s: points[%d]: %d values for %d fields", path, i, len(p.At), len(m.Fields))
		case p.Run != "" && !filepath.IsLocal(p.Run):
			return nil, fmt.Errorf("%s: points[%d]: its run %q is outside the folder", path, i, p.Run)
		case p.State != NotRun && p.State != Running && p.State != Done && p.State != Failed:
			return nil, fmt.Errorf("%s: points[%d]: its state %q is unknown", path, i, p.State)
		}
		for _, v := range p.At {
			switch v.(type) {
			case float64, string:
			default:
				return nil, fmt.Errorf("%s: points[%d]: the value %v is neither a number nor a text", path, i, v)
			}
		}
		if f, n := p.FirstRow, p.Rows; f != nil && *f < 0 || n != nil && *n < 0 || f != nil && n != nil && *f > mostRow-*n {
			return nil, fmt.Errorf("%s: points[%d]: there are no such rows", path, i)
		}
		names[p.Name] = true
	}
	return m, nil
}

// mostRow bounds the rows of a dataset.
const mostRow = 1 << 50

// Write puts the manifest into its folder in one step, over the one before.
func (m *Manifest) Write(dir string) error {
	m.Schema = Schema
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+File+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, File))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Same reports whether two points are the same run of the same place.
func Same(a, b Point) bool {
	if a.Repeat != b.Repeat || len(a.At) != len(b.At) {
		return false
	}
	for i := range a.At {
		if a.At[i] != b.At[i] {
			return false
		}
	}
	return true
}

// Left are the points that were not measured to their end, in order.
func (m *Manifest) Left() []int {
	var out []int
	for i, p := range m.Points {
		if p.State != Done {
			out = append(out, i)
		}
	}
	return out
}

// Add appends a point under a name of its own.
func (m *Manifest) Add(p Point) int {
	name := p.Name
	taken := func() bool {
		for _, q := range m.Points {
			if strings.EqualFold(q.Name, p.Name) {
				return true
			}
		}
		return false
	}
	for n := 2; taken(); n++ {
		p.Name = fmt.Sprintf("%s_%d", name, n)
	}
	m.Points = append(m.Points, p)
	return len(m.Points) - 1
}
