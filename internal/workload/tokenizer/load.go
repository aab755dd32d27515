package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest tokenizer file that is read, in bytes: ten times that of
// the largest known one.
const maxFile = 512 << 20

// Load reads the tokenizer of a model folder or one tokenizer file. Of a folder
// it takes tokenizer.json, else tokenizer.model, else tiktoken.model or the only
// *.tiktoken. A tokenizer_config.json beside the file is read for what only it
// says. Errors name the file, and the JSON path of what is not supported.
func Load(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	file := path
	if info.IsDir() {
		if file, err = find(path); err != nil {
			return nil, err
		}
	}
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	cfg := &config{}
	if beside := filepath.Join(filepath.Dir(file), "tokenizer_config.json"); beside != file {
		switch b, err := read(beside); {
		case err == nil:
			if cfg, err = parseConfig(b); err != nil {
				return nil, fmt.Errorf("%s: %w", beside, err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	t, err := parse(filepath.Base(file), data, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// find is the tokenizer file of a folder.
func find(dir string) (string, error) {
	for _, name := range []string{"tokenizer.json", "tokenizer.model", "tiktoken.model"} {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); err == nil {
			return p, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("tokenizer: %w", err)
		}
	}
	all, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.tiktoken"))
	if err != nil {
		return "", fmt.Errorf("tokenizer: %w", err)
	}
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return "", fmt.Errorf("tokenizer: %s has no tokenizer.json, tokenizer.model or *.tiktoken; copy the file from the model's repository, or name it", dir)
	}
	slices.Sort(all)
	return "", fmt.Errorf("tokenizer: %s has more than one .tiktoken file (%s, %s); name the one to use", dir, filepath.Base(all[0]), filepath.Base(all[1]))
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("tokenizer: %s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("tokenizer: %s has %d bytes; no tokenizer file is larger than %d", path, info.Size(), maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return b, nil
}

// parse makes a tokenizer of the bytes of a file. The format follows from the
// bytes, since "tokenizer.model" is the name of two of them; name picks the
// split pattern of a .tiktoken file.
func parse(name string, data []byte, cfg *config) (*Tokenizer, error) {
	var t *Tokenizer
	var err error
	switch first := bytes.TrimLeft(data, " \t\r\n\uFEFF"); {
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	case bytes.HasPrefix(data, []byte("version https://git-lfs")):
		return nil, errors.New("this is a Git LFS pointer, not the file itself; run: git lfs pull")
	case len(first) > 0 && (first[0] == '{' || first[0] == '['):
		t, err = parseHF(data, cfg)
	case isTiktoken(data):
		t, err = parseTiktoken(name, data, cfg)
	case strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".tiktoken"):
		return nil, fmt.Errorf("neither JSON nor lines of base64 and a rank; it starts with %q", head(data))
	default:
		t, err = parseSentencePiece(data, cfg)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	t.sha256 = hex.EncodeToString(sum[:])
	t.cache = newCache()
	t.special = map[int32]bool{}
	t.size = t.model.size()
	for id, a := range t.added {
		if a.special {
			t.special[id] = true
		}
		if got, ok := t.model.id(a.content); !ok || got != id {
			t.size++
		}
	}
	if t.decode == nil {
		return nil, errors.New("no decoder")
	}
	return t, nil
}

// head is the start of a file for a message.
func head(b []byte) string {
	b = b[:min(len(b), 24)]
	for len(b) > 0 && !utf8.Valid(b) {
		b = b[:len(b)-1]
	}
	return string(b)
}

// tokens are the entries of ids, for a decoder. Ids without one are left out.
func (t *Tokenizer) tokens(ids []int32, skipSpecial bool) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if skipSpecial && t.special[id] {
			continue
		}
		if s, ok := t.Token(id); ok {
			out = append(out, s)
		}
	}
	return out
}
