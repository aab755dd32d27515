package tape

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Names of a run's tape, in its folder and in a pack.
const (
	NameCompressed = "tape.jsonl.zst"
	NamePlain      = "tape.jsonl"
)

// Packed reports whether the file at path begins as a pack does, the one file that
// holds all of a run (tokentape pack): a zip archive.
func Packed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return beginsPacked(f)
}

func beginsPacked(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() { // a pipe is read once, and is no archive
		return false
	}
	var head [4]byte
	_, err = f.ReadAt(head[:], 0)
	return err == nil && string(head[:]) == "PK\x03\x04"
}

// inPack finds the tape in a pack, where it lies: a pack stores it as it is.
func inPack(f *os.File) (*io.SectionReader, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, st.Size())
	if errors.Is(err, zip.ErrFormat) {
		return nil, errors.New("a pack that is cut short or broken: the list at its end is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("a pack that is broken: %w", err)
	}
	var found *zip.File
	for _, m := range z.File {
		if m.Name != NameCompressed && m.Name != NamePlain {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("a pack with two tapes, %s and %s", found.Name, m.Name)
		}
		found = m
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("an archive without a tape (%s): %w", NameCompressed, ErrNotTape)
	case found.Method != zip.Store || found.CompressedSize64 != found.UncompressedSize64:
		return nil, fmt.Errorf("a pack whose %s is compressed once more: tokentape packs it as it is", found.Name)
	}
	at, err := found.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("a pack that is broken: %s: %w", found.Name, err)
	}
	size := int64(found.CompressedSize64)
	if size < 0 || at > st.Size()-size {
		return nil, fmt.Errorf("a pack that is cut short: %s reaches beyond its end", found.Name)
	}
	return io.NewSectionReader(f, at, size), nil
}
