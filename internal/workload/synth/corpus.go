package synth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"unicode/utf8"
)

// maxCorpus is how much of a corpus is used, in bytes.
const maxCorpus = 64 << 20

// corpus is text to cut prompts from, word by word; a word has the blanks before
// it.
type corpus struct {
	text   []byte
	starts []uint32 // of the words; one more than there are words
	costs  []uint16 // tokens of each, counted alone
	sha256 string   // of what is used
	cut    bool     // the file has more
}

func readCorpus(path string, tok Tokenizer) (*corpus, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	if st.Mode()&os.ModeDevice != 0 {
		return nil, fmt.Errorf("corpus: %s is a device, and no text file", path)
	}
	if st.IsDir() {
		return nil, fmt.Errorf("corpus: %s is a directory; name a text file in it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(bufio.NewReader(f), maxCorpus+1))
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	c := &corpus{}
	if len(b) > maxCorpus {
		b, c.cut = b[:maxCorpus], true
		for i := 0; i < 4 && !utf8.Valid(b[len(b)-4:]); i++ {
			b = b[:len(b)-1]
		}
	}
	sum := sha256.Sum256(b)
	c.sha256 = hex.EncodeToString(sum[:])
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	line := 1
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			return nil, fmt.Errorf("corpus: %s:%d is not UTF-8 text; convert it with iconv -t UTF-8", path, line)
		}
		switch {
		case r == '\n':
			line++
		case r == 0:
			return nil, fmt.Errorf("corpus: %s:%d holds a NUL byte: this is no text; name a text file, or convert UTF-16 with iconv -t UTF-8", path, line)
		}
		rest = rest[n:]
	}
	c.text = b
	count := counter(tok)
	known := map[string]uint16{}
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && blank(b[j]) {
			j++
		}
		if j == len(b) {
			break // blanks at the end
		}
		for j < len(b) && !blank(b[j]) && j-i < 1<<10 {
			j++
		}
		for j < len(b) && !utf8.RuneStart(b[j]) {
			j++
		}
		n, ok := known[string(b[i:j])]
		if !ok {
			n = uint16(count(string(b[i:j])))
			if len(known) < 1<<20 {
				known[string(b[i:j])] = n
			}
		}
		c.starts, c.costs = append(c.starts, uint32(i)), append(c.costs, n)
		i = j
	}
	if slices.Max(append(c.costs, 0)) == 0 || len(c.costs) < 2 {
		return nil, fmt.Errorf("corpus: %s holds fewer than two words that this tokenizer knows", path)
	}
	end := len(bytes.TrimRight(b, " \t\r\n\v\f"))
	c.starts = append(c.starts, uint32(end))
	return c, nil
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// add appends a stretch of the corpus that begins at a random word and counts n
// tokens at most, and returns how many are left over. At the corpus's end it goes
// on at its start.
func (c *corpus) add(b []byte, r *rand.Rand, n int) ([]byte, int) {
	i := r.IntN(len(c.costs))
	for n > 0 && n >= int(c.costs[i]) {
		word := c.text[c.starts[i]:c.starts[i+1]]
		switch {
		case len(b) == 0:
			word = bytes.TrimLeft(word, " \t\r\n\v\f")
		case i == 0 && !blank(word[0]):
			b = append(b, '\n')
		}
		b = append(b, word...)
		n -= int(c.costs[i])
		i = (i + 1) % len(c.costs)
	}
	return b, n
}
