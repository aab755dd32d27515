package synth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// ManifestSchema is the version of the manifest's form.
const ManifestSchema = "tokentape.dataset/1"

// Manifest says what a set is: enough to make it again, to make another of the
// same shape, and to hold the set against.
type Manifest struct {
	Schema    string       `json:"schema"`
	Data      Data         `json:"data"`
	Prepare   *Data        `json:"prepare,omitempty"` // what to send first
	Tokenizer TokenizerRef `json:"tokenizer"`
	Params    Params       `json:"params"`
	Files     []FileRef    `json:"files,omitempty"` // that the set was made of
	Summary   Summary      `json:"summary"`
	Notes     []string     `json:"notes,omitempty"`
	Rows      []RowFacts   `json:"rows"`
}

// Data names a file by content.
type Data struct {
	File   string `json:"file"` // without folders
	Bytes  int64  `json:"bytes"`
	Rows   int    `json:"rows"`
	SHA256 string `json:"sha256"`
}

// FileRef is a file that a parameter names.
type FileRef struct {
	Param  string `json:"param"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// TokenizerRef is the tokenizer that counted.
type TokenizerRef struct {
	Name     string `json:"name"`
	SHA256   string `json:"sha256"`
	Template string `json:"template,omitempty"` // "": none; the tokenizer's own special tokens stand around a prompt
	Before   int    `json:"before"`             // tokens of the prompt before the message's text
	After    int    `json:"after"`              // and behind it
}

// Summary adds the rows up. Tokens.
type Summary struct {
	Content   Span `json:"content"`
	Templated Span `json:"templated"`
	Output    Span `json:"output,omitzero"`
	// Planned are the cached tokens that the parameters ask for, over the rows
	// that are no first touch; Expected is what a prefix cache without limits
	// serves when the rows go out one after another.
	Planned       int64   `json:"planned_cached"`
	Expected      int64   `json:"expected_cached"`
	ExpectedShare float64 `json:"expected_share"`        // of all templated tokens
	RepeatShare   float64 `json:"expected_repeat_share"` // of those of rows that are no first touch; 0 without any
	FirstTouches  int     `json:"first_touches"`         // rows that no row or preparation before them seeded
}

// Span describes lengths.
type Span struct {
	Min  int     `json:"min"`
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
	Sum  int64   `json:"sum"`
}

func (s *Span) add(n, rows int) {
	if rows == 0 || n < s.Min {
		s.Min = n
	}
	s.Max = max(s.Max, n)
	s.Sum += int64(n)
	s.Mean = float64(s.Sum) / float64(rows+1)
}

// RowFacts are the facts of one row. Tokens.
type RowFacts struct {
	Row       int    `json:"row"`   // 0-based
	Group     int    `json:"group"` // -1: none
	Content   int    `json:"content"`
	Templated int    `json:"templated"`
	Output    int    `json:"output,omitempty"`
	Expected  int    `json:"expected_cached"`
	First     bool   `json:"first_touch,omitempty"`
	SHA256    string `json:"sha256"` // of the row's line, without its end
}

// Write writes the manifest as JSON, one row a line.
func (m *Manifest) Write(w io.Writer) error {
	head := *m
	head.Rows = []RowFacts{}
	b, err := encode(head, "  ")
	if err != nil {
		return err
	}
	const empty = "\"rows\": []\n}"
	i := bytes.LastIndex(b, []byte(empty))
	bw := bufio.NewWriter(w)
	bw.Write(b[:i])
	bw.WriteString("\"rows\": [\n")
	for k, r := range m.Rows {
		line, err := encode(r, "")
		if err != nil {
			return err
		}
		bw.WriteString("    ")
		bw.Write(bytes.TrimSuffix(line, []byte("\n")))
		if k+1 < len(m.Rows) {
			bw.WriteByte(',')
		}
		bw.WriteByte('\n')
	}
	bw.WriteString("  ]\n}\n")
	return bw.Flush()
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// maxManifest bounds a manifest in bytes.
const maxManifest = 4 << 30

// ReadManifest reads a manifest file. Its errors name the file.
func ReadManifest(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	defer f.Close()
	m, err := decodeManifest(io.LimitReader(bufio.NewReader(f), maxManifest))
	if err != nil {
		return nil, fmt.Errorf("%s is no manifest of tokentape dataset build: %w", path, err)
	}
	return m, nil
}

func decodeManifest(r io.Reader) (*Manifest, error) {
	var m Manifest
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return nil, err
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("schema %q is not %s, which this version reads", m.Schema, ManifestSchema)
	}
	if len(m.Rows) != m.Data.Rows {
		return nil, fmt.Errorf("it counts %d rows and lists %d", m.Data.Rows, len(m.Rows))
	}
	return &m, nil
}

// SameFiles reports that the files behind a set are still those of a manifest.
// The error names the one that is not.
func (b *Builder) SameFiles(m *Manifest) error {
	for _, old := range m.Files {
		for _, now := range b.files() {
			if now.Param == old.Param && now.SHA256 != old.SHA256 {
				return fmt.Errorf("%s has changed since the set was built: sha256 %.12s…, the manifest says %.12s…; build a set of its own", now.Path, now.SHA256, old.SHA256)
			}
		}
	}
	return nil
}

// files are the files that the parameters name.
func (b *Builder) files() (list []FileRef) {
	_, in, _ := strings.Cut(b.s.Input, ":")
	_, out, _ := strings.Cut(b.s.Output, ":")
	list = []FileRef{{"input", in, b.s.in.SHA256()}, {"output", out, b.s.out.SHA256()}}
	if b.corpus != nil {
		list = append(list, FileRef{"from", b.s.From, b.corpus.sha256})
	}
	if list = slices.DeleteFunc(list, func(f FileRef) bool { return f.SHA256 == "" }); len(list) == 0 {
		return nil // as it is read back
	}
	return list
}
