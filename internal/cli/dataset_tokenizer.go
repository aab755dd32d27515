package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/sim"
	"tokentape/internal/workload"
	"tokentape/internal/workload/synth"
	"tokentape/internal/workload/tokenizer"
)

// simName is the --tokenizer that stands for the simulated server's own.
const simName = "sim"

// loadTokenizer is what --tokenizer and --chat-template name.
func loadTokenizer(path, chat string) (synth.Tokenizer, error) {
	if path == "" {
		return nil, usageError("no tokenizer is named, and lengths are never guessed", "--tokenizer FOLDER with the model's tokenizer.json, or --tokenizer sim for the simulated server")
	}
	if path == simName {
		switch chat {
		case "auto", "":
			return simTokenizer{chat: true}, nil
		case "none":
			return simTokenizer{}, nil
		}
		return nil, usageError("--chat-template: the simulated server has its own template", "--chat-template auto, or none for /v1/completions")
	}
	tok, err := tokenizer.Load(path)
	if err != nil {
		return nil, usageError(err.Error(), "--tokenizer takes the model's folder or its tokenizer file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	name := filepath.Base(abs)
	switch {
	case chat == "none" || chat == "":
		return synth.NewModel(name, tok, "", nil), nil
	case chat == "auto":
		about, render, err := modelTemplate(path)
		if err != nil {
			return nil, usageError(err.Error(), "--chat-template none, or the template as a text with {content} in it")
		}
		return synth.NewModel(name, tok, about, render), nil
	}
	render, err := synth.Frame(chat)
	if err != nil {
		return nil, usageError("--chat-template: "+err.Error(), `for example --chat-template '<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n' with real line breaks`)
	}
	return synth.NewModel(name, tok, chat, render), nil
}

// manifestTokenizer is the tokenizer that a manifest was made with, or the one
// that the flags name instead.
func (a *app) manifestTokenizer(cmd *cobra.Command, f *rowFlags, m *synth.Manifest) (synth.Tokenizer, error) {
	if f.tokenizer == "" && m.Tokenizer.Name == simName {
		f.tokenizer = simName
	}
	if f.tokenizer == "" {
		return nil, usageError(fmt.Sprintf("the set was counted with the tokenizer %s (sha256 %.12s…); its files are needed again", m.Tokenizer.Name, m.Tokenizer.SHA256), "--tokenizer FOLDER")
	}
	if !cmd.Flags().Changed("chat-template") {
		switch t := m.Tokenizer.Template; {
		case t == "":
			f.chat = "none"
		case strings.Contains(t, "{content}"):
			f.chat = t
		}
	}
	return loadTokenizer(f.tokenizer, f.chat)
}

// simTokenizer is the simulated server's tokenizer and chat template.
type simTokenizer struct{ chat bool }

func (simTokenizer) Name() string { return simName }

func (simTokenizer) SHA256() string {
	sum := sha256.Sum256([]byte(sim.TokenizerVersion))
	return hex.EncodeToString(sum[:])
}

func (t simTokenizer) Template() string {
	if t.chat {
		return sim.TokenizerVersion
	}
	return ""
}

func (simTokenizer) Content(dst []uint64, text string) []uint64 { return sim.AppendText(dst, text) }

func (t simTokenizer) Prompt(dst []uint64, messages []workload.Message) ([]uint64, error) {
	for _, m := range messages {
		if t.chat {
			dst = sim.AppendMessage(dst, m.Role, m.Content)
		} else {
			dst = sim.AppendText(dst, m.Content)
		}
	}
	if t.chat {
		dst = sim.AppendReply(dst)
	}
	return dst, nil
}

// Words are all of a consonant, a vowel and a consonant: the simulated tokenizer
// makes one token of each.
func (simTokenizer) Words() []string {
	const consonants, vowels = "bdfghklmnprstvwz", "aeiou"
	var out []string
	for _, a := range consonants {
		for _, b := range vowels {
			for _, c := range consonants {
				out = append(out, string([]rune{a, b, c}))
			}
		}
	}
	return out
}
