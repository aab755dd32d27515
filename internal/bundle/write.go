package bundle

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Schema names the form of pack.json. Later versions only add.
const Schema = "tokentape.pack/1"

const schemaName = "tokentape.pack/"

// maxMember is the size up to which zip needs no second form of itself.
const maxMember = 1<<32 - 2

// Manifest is pack.json.
type Manifest struct {
	Schema string `json:"schema"`
	Run    string `json:"run"` // id of the tape's run
	Name   string `json:"name,omitempty"`
	Tool   string `json:"tool"` // that made the pack
	Go     string `json:"go"`   // whose packing of members is the same from build to build
	// Made are reports that the run's folder did not have, and Tool made of the tape.
	Made []string `json:"made,omitempty"`
	// Without are files of a run that its folder did not have.
	Without  []string  `json:"without,omitempty"`
	Prompts  bool      `json:"prompts"` // datasets are in it
	Datasets []Dataset `json:"datasets"`
}

// Dataset is one of those that the tape names, in its order.
type Dataset struct {
	Path         string `json:"path"` // as the tape names it
	Bytes        int64  `json:"bytes"`
	Rows         int64  `json:"rows"`
	SHA256       string `json:"sha256"`
	File         string `json:"file,omitempty"`          // its member; absent: the prompts were not asked for
	Manifest     string `json:"manifest,omitempty"`      // the member that says how it was built
	WithoutWhy   string `json:"without_why,omitempty"`   // why there is no manifest
	ManifestPath string `json:"manifest_path,omitempty"` // where it was
}

// Source is a file to pack. Open is called twice.
type Source struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Bytes is a Source of text that is in memory.
func Bytes(name string, b []byte) Source {
	return Source{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
}

// sized is what must be known of a member before it is written.
type sized struct {
	Source
	size, packed int64
	crc          uint32
	sum          [sha256.Size]byte
}

// Write makes a pack: m, the checksums of all members, then the members in the
// order of their names. The same members give the same bytes. An error names the
// member that could not be read, is unknown, comes twice, or changed while it was
// packed.
func Write(w io.Writer, m Manifest, members []Source) error {
	m.Schema, m.Go = Schema, runtime.Version()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	for i, s := range members {
		if !known(s.Name) || s.Name == ManifestName || s.Name == SumsName {
			return fmt.Errorf("pack: %q is no file of a pack", s.Name)
		}
		if i > 0 && members[i-1].Name == s.Name {
			return fmt.Errorf("pack: %s twice", s.Name)
		}
	}
	members = slices.Insert(members, 0, Bytes(ManifestName, append(text, '\n')))
	all := make([]*sized, len(members))
	var sums strings.Builder
	for i, s := range members {
		if all[i], err = measure(s); err != nil {
			return err
		}
		sums.WriteString(sumLine(all[i].sum, s.Name))
	}
	list, err := measure(Bytes(SumsName, []byte(sums.String())))
	if err != nil {
		return err
	}
	all = slices.Insert(all, 1, list)
	z := zip.NewWriter(w)
	for _, s := range all {
		if err := s.write(z); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

// sumLine is a line of SHA256SUMS, as sha256sum -c reads it.
func sumLine(sum [sha256.Size]byte, name string) string {
	return hex.EncodeToString(sum[:]) + "  " + name + "\n"
}

// measure reads a member once.
func measure(s Source) (*sized, error) {
	x := &sized{Source: s}
	packed := &counter{}
	err := x.through(packed)
	if x.packed = packed.n; err == nil && (x.size > maxMember || x.packed > maxMember) {
		err = fmt.Errorf("%d bytes; a pack takes up to %d of a member", x.size, int64(maxMember))
	}
	if err != nil {
		return nil, fmt.Errorf("pack: %s: %w", s.Name, err)
	}
	return x, nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

// deflaters are kept: each takes a megabyte.
var deflaters = sync.Pool{New: func() any {
	z, _ := flate.NewWriter(nil, flate.DefaultCompression) // the level is one
	return z
}}

// through sends a member to w in the form in which it is packed, and notes its size
// and sums.
func (s *sized) through(w io.Writer) error {
	r, err := s.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	var z *flate.Writer
	to := w
	if !stored(s.Name) {
		z = deflaters.Get().(*flate.Writer)
		defer deflaters.Put(z)
		z.Reset(w)
		to = z
	}
	sum, crc := sha256.New(), crc32.NewIEEE()
	if s.size, err = io.Copy(io.MultiWriter(to, sum, crc), r); err != nil {
		return err
	}
	if z != nil {
		if err := z.Close(); err != nil {
			return err
		}
	}
	s.crc = crc.Sum32()
	sum.Sum(s.sum[:0])
	return nil
}

// header is all that a pack says of a member.
func (s *sized) header() *zip.FileHeader {
	h := &zip.FileHeader{
		Name: s.Name, Method: zip.Deflate, CRC32: s.crc,
		UncompressedSize64: uint64(s.size), CompressedSize64: uint64(s.packed),
		CreatorVersion: creator, ReaderVersion: 20, ExternalAttrs: mode << 16,
	}
	//lint:ignore SA1019 CreateRaw writes this field, and not Modified
	h.ModifiedDate = date
	if stored(s.Name) {
		h.Method = zip.Store
	}
	return h
}

// What a pack says of every member: a regular file, readable by all, of no time.
const (
	creator = 3<<8 | 20 // Unix
	mode    = 0o100644
	date    = 1<<5 | 1 // 1980-01-01, the first day that zip knows
)

func (s *sized) write(z *zip.Writer) error {
	before := *s
	w, err := z.CreateRaw(s.header())
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	packed := &counter{}
	if err := s.through(io.MultiWriter(w, packed)); err != nil {
		return fmt.Errorf("pack: %s: %w", s.Name, err)
	}
	if s.sum != before.sum || s.size != before.size || packed.n != s.packed {
		return fmt.Errorf("pack: %s changed while it was packed", s.Name)
	}
	return nil
}
