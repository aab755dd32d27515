package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tokentape/tape"
)

// KeptSchema names the format of a kept envelope.
const KeptSchema = "tokentape.envelope/1"

// Kept is an envelope in a file, with what it was measured on.
type Kept struct {
	Schema string `json:"schema"`
	Tool   string `json:"tool"` // version
	Host   Facts  `json:"host"`
	Look   string `json:"look,omitempty"` // LookFull or LookQuick; "": not recorded, by an older doctor
	// Busy cores of other work during the look; absent: not observed, or not recorded.
	Busy     tape.Opt[float64] `json:"busy_cores,omitzero"`
	Envelope tape.Envelope     `json:"envelope"`
}

// What kind of look an envelope is of.
const (
	LookFull  = "full"
	LookQuick = "quick"
)

// lasts is how long a sound look stands against lesser ones.
const lasts = 7 * 24 * time.Hour

// Sound reports whether the look was a full one, and was not seen to be beside more other
// work than the item other_load allows.
func (k *Kept) Sound() bool {
	return k.Look == LookFull && !Crowded(k.Busy, k.Host.CPUs)
}

// Wins reports whether k replaces what was kept before, nil for nothing: it does, unless it
// is not sound, and before is, of the same version and of the week before k.
func (k *Kept) Wins(before *Kept) bool {
	if before == nil || k.Sound() || !before.Sound() || k.Tool != before.Tool {
		return true
	}
	then, err := time.Parse(time.RFC3339, before.Envelope.Measured)
	now, err2 := time.Parse(time.RFC3339, k.Envelope.Measured)
	age := now.Sub(then)
	return err != nil || err2 != nil || age < 0 || age > lasts
}

// Of says of which look the envelope is: when, of what kind, and beside what.
func (k *Kept) Of() string { return k.Envelope.Measured + ", " + k.how() }

// how is Of without the time.
func (k *Kept) how() string {
	look := k.Look
	if look == "" {
		return "full or quick was not recorded"
	}
	if !k.Busy.OK {
		return look + ", other load not observed"
	}
	return fmt.Sprintf("%s, beside %.1f busy cores", look, k.Busy.V)
}

// Facts are what an envelope depends on: with other ones it is another host.
type Facts struct {
	Name        string  `json:"name"`
	Arch        string  `json:"arch"`
	Kernel      string  `json:"kernel"`
	CPUModel    string  `json:"cpu_model"`
	Logical     int64   `json:"logical"`
	CPUs        int     `json:"cpus"`
	Quota       float64 `json:"cpu_quota,omitempty"`
	Memory      int64   `json:"memory"`
	ClockSource string  `json:"clock_source"`
	// Descriptors that a process may open, where that bounds the streams; 0: it does not.
	Descriptors int64 `json:"descriptors,omitempty"`
}

// FactsOf are those of a host, of whose descriptors a process may open as many; 0: not
// known.
func FactsOf(h tape.Host, descriptors int64) Facts {
	if descriptors >= 2*mostStreams {
		descriptors = 0
	}
	// A container's memory is that of its machine; some tell it a little off each time.
	return Facts{h.Name, h.Arch, h.Kernel, h.CPUModel, h.Logical, h.CPUs, h.Quota.Or(0), h.Memory >> 28 << 28, h.ClockSource, descriptors}
}

func (f Facts) key() string {
	b, _ := json.Marshal(f) // plain strings and numbers: cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// KeptPath is the file of a host's envelope below the user's folder of caches.
func KeptPath(cache string, f Facts) string {
	return filepath.Join(cache, "tokentape", "envelope-"+f.key()+".json")
}

// Keep writes the envelope over the one of the same host, in one step.
func Keep(path string, k Kept) error {
	k.Schema = KeptSchema
	b, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".envelope-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Known reads a kept envelope; nil without an error when there is none.
func Known(path string, f Facts) (*Kept, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var k Kept
	if err := json.Unmarshal(b, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if k.Schema != KeptSchema || k.Host != f || len(k.Envelope.Points) == 0 || k.Envelope.Limit <= 0 {
		return nil, fmt.Errorf("%s: not an envelope of this host", path)
	}
	return &k, nil
}
