package importer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Values reads a file of one JSON value, or of one a line, as Python writes it: NaN
// and Infinity, which are no JSON, are null. Errors name the line.
func Values(path string) (values []json.RawMessage, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plain := python(b)
	d := json.NewDecoder(bytes.NewReader(plain))
	for {
		var v json.RawMessage
		err := d.Decode(&v)
		if err == io.EOF {
			break
		}
		if err != nil {
			at := min(int(d.InputOffset()), len(plain))
			return nil, fmt.Errorf("%s:%d: no JSON, torn or of another tool: %w; there it says %.40q", path, 1+bytes.Count(plain[:at], []byte("\n")), err, bytes.TrimSpace(plain[at:]))
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: it is empty", path)
	}
	return values, nil
}

// python puts null in place of Python's NaN and Infinity, outside texts.
func python(b []byte) []byte {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] == '"' {
			n := textEnd(b[i:])
			out, i = append(out, b[i:i+n]...), i+n
			continue
		}
		if n := noNumber(b[i:]); n > 0 {
			out, i = append(out, "null"...), i+n
			continue
		}
		out, i = append(out, b[i]), i+1
	}
	return out
}

// textEnd is the length of the text that b begins with, quotes included.
func textEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// noNumber is the length of a word for what is no number at the beginning of b; 0:
// there is none.
func noNumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// Lines calls f with every line of a file that is not blank, numbered from 1, and
// returns the hash of the file. Errors: those of reading and of f.
func Lines(path string, f func(no int64, line []byte) error) (sha string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(file, sum), 1<<20)
	for no := int64(1); ; no++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return "", err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(no, python(line)); err != nil {
				return "", fmt.Errorf("%s:%d: %w", path, no, err)
			}
		}
		if err == io.EOF {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
	}
}

// SHA256 is the hash of b in hex.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
