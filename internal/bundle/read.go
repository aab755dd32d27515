package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bounds of what is believed of a pack.
const (
	maxMembers = 64      // there are some fifteen names, and datasets
	maxText    = 4 << 20 // of pack.json and SHA256SUMS, which are read whole
	maxRatio   = 250     // to how many times its packed size a member may unfold
	freeRatio  = 4 << 20 // whatever the ratio
	maxSets    = maxMembers / 2
)

// ErrRefused says that a file is no pack, or not one that is read; the message says
// why.
var ErrRefused = errors.New("refused")

// Pack is an open pack. Its directory has been proved, its members not.
type Pack struct {
	Manifest Manifest
	path     string
	in       io.ReaderAt
	file     io.Closer
	size     int64
	members  []*zip.File
}

// Open opens the pack at path and proves its frame: every member is one that a
// pack has, once, in the place and of the form that Write gives it, and there is
// nothing else in the file. Errors that are of the pack satisfy
// errors.Is(err, ErrRefused).
func Open(path string) (*Pack, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return FromFile(f, path)
}

// FromFile is Open of a file that is open already; path is what messages call it. The
// Pack closes it, and so does an error.
func FromFile(f *os.File, path string) (*Pack, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w: a pack is a file", path, ErrRefused)
	}
	var p *Pack
	if err == nil {
		if p, err = read(f, st.Size()); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	p.path, p.file = path, f
	return p, nil
}

// Close closes the file.
func (p *Pack) Close() error { return p.file.Close() }

// Names are the members, in the order of the pack.
func (p *Pack) Names() []string {
	var names []string
	for _, m := range p.members {
		names = append(names, m.Name)
	}
	return names
}

// Has reports whether there is a member of that name.
func (p *Pack) Has(name string) bool { return p.member(name) != nil }

func (p *Pack) member(name string) *zip.File {
	for _, m := range p.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Open opens a member. Reading it ends with an error when it is not of the size and
// the checksum that the pack says.
func (p *Pack) Open(name string) (io.ReadCloser, error) {
	m := p.member(name)
	if m == nil {
		return nil, fmt.Errorf("%s: no %s in it", p.path, name)
	}
	r, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.path, name, err)
	}
	return r, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

func read(in io.ReaderAt, size int64) (*Pack, error) {
	z, err := zip.NewReader(in, size)
	switch {
	case errors.Is(err, zip.ErrFormat):
		var head [4]byte
		if n, _ := in.ReadAt(head[:], 0); n == 4 && string(head[:]) == "PK\x03\x04" {
			return nil, refuse("cut short, or not a zip archive: the list at its end is missing or broken")
		}
		return nil, refuse("not a pack: no zip archive")
	case errors.Is(err, zip.ErrInsecurePath): // frame refuses the name
	case err != nil:
		return nil, refuse("%v", err)
	}
	if len(z.File) > maxMembers {
		return nil, refuse("%d members; a pack has at most %d", len(z.File), maxMembers)
	}
	if z.Comment != "" {
		return nil, refuse("a comment, which no pack has")
	}
	p := &Pack{in: in, size: size, members: z.File}
	if err := p.frame(); err != nil {
		return nil, err
	}
	if !p.Has(ManifestName) || !p.Has(SumsName) {
		return nil, refuse("a zip archive without %s and %s: not made by tokentape pack", ManifestName, SumsName)
	}
	if err := p.manifest(); err != nil {
		return nil, err
	}
	return p, nil
}

// shown quotes a name that may hold anything, cut.
func shown(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}

// Sizes of what zip puts around members.
const (
	localSize     = 30
	directorySize = 46
	endSize       = 22
)

// frame proves that the members are all that the file holds: each is of the form
// that Write gives it and begins where the one before ends, and the directory
// follows the last and fills the rest.
func (p *Pack) frame() error {
	seen := map[string]bool{}
	at, rest := int64(0), int64(endSize)
	var tapes []string
	for _, m := range p.members {
		name := m.Name
		switch mode := m.Mode(); {
		case !utf8.ValidString(name) || !known(name):
			return refuse("%s is no file of a pack", shown(name))
		case seen[name]:
			return refuse("%s twice", name)
		case !mode.IsRegular():
			return refuse("%s is no regular file (%s)", name, mode)
		case m.Flags != 0 || len(m.Extra) > 0 || m.Comment != "" || m.ModifiedDate != date || m.ModifiedTime != 0 ||
			m.ExternalAttrs != mode16 || m.CreatorVersion != creator || m.NonUTF8:
			return refuse("%s is not packed as tokentape packs: flags %#x, %d bytes beside its name", name, m.Flags, len(m.Extra)+len(m.Comment))
		case stored(name) != (m.Method == zip.Store) || !stored(name) && m.Method != zip.Deflate:
			return refuse("%s is packed by method %d", name, m.Method)
		case m.UncompressedSize64 > maxMember || m.CompressedSize64 > maxMember || m.Method == zip.Store && m.CompressedSize64 != m.UncompressedSize64:
			return refuse("%s has impossible sizes: %d, packed %d", name, m.UncompressedSize64, m.CompressedSize64)
		case m.UncompressedSize64 > freeRatio && m.UncompressedSize64/maxRatio > m.CompressedSize64:
			return refuse("%s unfolds from %d to %d bytes: a bomb", name, m.CompressedSize64, m.UncompressedSize64)
		case (name == ManifestName || name == SumsName) && m.UncompressedSize64 > maxText:
			return refuse("%s has %d bytes; at most %d are read", name, m.UncompressedSize64, maxText)
		}
		seen[name] = true
		if isTape(name) {
			tapes = append(tapes, name)
		}
		off, err := m.DataOffset()
		if err != nil {
			return refuse("%s: %v", name, err)
		}
		if want := at + localSize + int64(len(name)); off != want {
			return refuse("%s begins at byte %d, not at %d: something lies between, before or over the members", name, off, want)
		}
		if err := sameLocal(p.in, at, m); err != nil {
			return err
		}
		at = off + int64(m.CompressedSize64)
		rest += directorySize + int64(len(name))
	}
	if at+rest != p.size {
		return refuse("%d bytes that belong to no member", p.size-at-rest)
	}
	switch len(tapes) {
	case 0:
		return refuse("no tape in it")
	case 1:
		return nil
	}
	return refuse("two tapes: %s", strings.Join(tapes, ", "))
}

const mode16 = mode << 16

// sameLocal proves that a member is called and sized before its bytes as in the
// directory: other programs go by that.
func sameLocal(in io.ReaderAt, at int64, m *zip.File) error {
	b := make([]byte, localSize+len(m.Name))
	if _, err := in.ReadAt(b, at); err != nil {
		return refuse("%s: %v", m.Name, err)
	}
	le := binary.LittleEndian
	if le.Uint16(b[6:]) != 0 || le.Uint16(b[8:]) != m.Method || le.Uint32(b[14:]) != m.CRC32 || uint64(le.Uint32(b[18:])) != m.CompressedSize64 ||
		uint64(le.Uint32(b[22:])) != m.UncompressedSize64 || int(le.Uint16(b[26:])) != len(m.Name) || le.Uint16(b[28:]) != 0 || string(b[localSize:]) != m.Name {
		return refuse("%s is called or sized otherwise where it lies than in the list at the end", m.Name)
	}
	return nil
}

// text reads a small member whole.
func (p *Pack) text(name string) ([]byte, error) {
	r, err := p.member(name).Open()
	if err != nil {
		return nil, refuse("%s: %v", name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, refuse("%s: %v", name, err)
	}
	if len(b) > maxText {
		return nil, refuse("%s has more than %d bytes", name, maxText)
	}
	return b, nil
}

func (p *Pack) manifest() error {
	b, err := p.text(ManifestName)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&p.Manifest); err != nil {
		return refuse("%s: %v", ManifestName, err)
	}
	switch v, ok := strings.CutPrefix(p.Manifest.Schema, schemaName); {
	case !ok:
		return refuse("%s has the schema %s, not %s", ManifestName, shown(p.Manifest.Schema), Schema)
	case v != "1":
		return refuse("made by a newer tokentape: %s; this one reads %s", shown(p.Manifest.Schema), Schema)
	}
	if len(p.Manifest.Datasets) > maxSets {
		return refuse("%s names %d datasets; at most %d", ManifestName, len(p.Manifest.Datasets), maxSets)
	}
	return nil
}
