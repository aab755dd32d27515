package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tokentape/internal/workload"
	"tokentape/internal/workload/chattmpl"
	"tokentape/internal/workload/synth"
)

// templateDay is the date that templates write which ask for one: a set must
// count the same on any day.
var templateDay = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// modelTemplate is the chat template of a model's folder, or of the folder of a
// file; a nil Render when there is none. about names it by content.
func modelTemplate(path string) (about string, render synth.Render, err error) {
	t, err := chattmpl.Load(modelFolder(path))
	if errors.Is(err, chattmpl.ErrNone) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	t = t.At(templateDay)
	b, err := os.ReadFile(t.File())
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(b)
	about = fmt.Sprintf("%s, sha256 %.12s…", filepath.Base(t.File()), hex.EncodeToString(sum[:]))
	return about, func(messages []workload.Message) (string, error) {
		list, err := chatMessages(messages)
		if err != nil {
			return "", err
		}
		return t.Render(list, true, nil)
	}, nil
}
