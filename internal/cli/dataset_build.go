package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/workload/synth"
)

func (a *app) buildCommand() *cobra.Command {
	var f rowFlags
	var out outFile
	var resalt string
	var seed, salt uint64
	p := synth.Defaults()
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build prompts of exact token lengths, with a known share of cached tokens",
		Long: `build writes JSON lines with a question (and max_tokens) each, and beside them
FILE.manifest.json with everything that the set is: parameters, seed, tokenizer,
lengths before and after templating, the cached tokens to expect of every row.
Every prompt is counted again when it is finished.

Lengths are a number, uniform:A-B, normal:MEAN,SD, lognormal:MEAN,SD, zipf:S,MIN-MAX,
file:PATH (one a line) or pairs:PATH (input,output a line).

Without --cache-share or --cached-tokens no prompt begins as another: nothing can
hit a prefix cache but the chat template itself. Both count tokens of the actual,
templated input, as the server's usage does.`,
		Example: `  tokentape dataset build --out data.jsonl --tokenizer ~/models/Qwen3-8B --requests 640 --input 16384
  tokentape dataset build --out data.jsonl --tokenizer sim --requests 64 \
      --input 131076 --length-of templated --cached-tokens 118784 --page-size 64 --seeded-by-prepare
  tokentape dataset build --resalt data.jsonl.manifest.json --out fresh.jsonl`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	fs.StringVar(&out.path, "out", "", "the file to write, which must not exist yet")
	fs.BoolVar(&out.force, "force", false, "write over the files of an earlier set")
	f.registerTokenizer(cmd)
	fs.IntVar(&p.Requests, "requests", p.Requests, "rows")
	fs.StringVar(&p.Input, "input", p.Input, "length of a prompt in tokens")
	fs.StringVar(&p.LengthOf, "length-of", p.LengthOf, "what --input counts: content, the message alone; templated, as the server counts")
	fs.StringVar(&p.Output, "output-len", "", "max_tokens of a row (default: none; with --kind copy the passage's length)")
	fs.StringVar(&p.Kind, "kind", p.Kind, "plain, or copy: the prompt asks for its own text again, so that drafted tokens are accepted")
	fs.StringVar(&p.CacheShare, "cache-share", "", "share of the actual input that is cached, for example 0.906222")
	fs.IntVar(&p.CachedTokens, "cached-tokens", 0, "the same in tokens of every row")
	fs.IntVar(&p.Groups, "prefix-groups", 0, "groups of prompts that share a prefix (default 1)")
	fs.StringVar(&p.Popularity, "popularity", p.Popularity, "of the groups: uniform or zipf:S")
	fs.BoolVar(&p.Prepare, "seeded-by-prepare", false, "also write FILE.prepare.jsonl: what to send first, so that every row hits")
	fs.IntVar(&p.PageSize, "page-size", p.PageSize, "tokens of a page of the server's prefix cache")
	fs.StringVar(&p.Order, "order", p.Order, "of the groups' rows: grouped, interleaved or shuffled")
	fs.StringVar(&p.From, "from", "", "a text file to cut prompts from (default: random words)")
	fs.Uint64Var(&seed, "seed", 0, "of lengths, order and text (default: drawn, and written in the manifest)")
	fs.Uint64Var(&salt, "salt", 0, "of the text alone, beside --seed")
	fs.StringVar(&resalt, "resalt", "", "a manifest: the same set in other words")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if out.path == "" {
			return usageError("nowhere to write: --out is not given", "tokentape dataset build --out data.jsonl …")
		}
		var old *synth.Manifest
		if resalt != "" {
			for _, name := range []string{"requests", "input", "length-of", "output-len", "kind", "cache-share", "cached-tokens", "prefix-groups", "popularity", "seeded-by-prepare", "page-size", "order", "from", "seed"} {
				if cmd.Flags().Changed(name) {
					return usageError(fmt.Sprintf("--%s has no effect beside --resalt: the set keeps its shape", name), "leave it out, or build a set of its own")
				}
			}
			m, err := synth.ReadManifest(resalt)
			if err != nil {
				return usageError(err.Error())
			}
			p, old = m.Params, m
		} else if p.Seed = seed; !cmd.Flags().Changed("seed") {
			p.Seed = drawn()
		}
		if p.Salt = salt; !cmd.Flags().Changed("salt") && resalt != "" {
			p.Salt = drawn()
		}
		if cmd.Flags().Changed("prefix-groups") && p.Groups < 1 {
			return usageError(fmt.Sprintf("--prefix-groups %d: no rows would share a prefix", p.Groups), "1 or more; without --cache-share and --cached-tokens no prompt begins as another")
		}
		if err := idleBuild(cmd, p); err != nil {
			return err
		}
		var tok synth.Tokenizer
		var err error
		if old != nil {
			tok, err = a.manifestTokenizer(cmd, &f, old)
		} else {
			tok, err = loadTokenizer(f.tokenizer, f.chat)
		}
		if err != nil {
			return err
		}
		return a.build(cmd, out, p, tok, old)
	}
	return cmd
}

// idleBuild refuses flags that change nothing beside the others.
func idleBuild(cmd *cobra.Command, p synth.Params) error {
	shared := p.CachedTokens > 0
	if x, err := strconv.ParseFloat(p.CacheShare, 64); err == nil && x > 0 {
		shared = true
	}
	for _, name := range []string{"prefix-groups", "popularity", "order", "seeded-by-prepare"} {
		switch set := cmd.Flags().Changed(name); {
		case set && !shared:
			return usageError(fmt.Sprintf("--%s has no effect without --cache-share or --cached-tokens: no prompt begins as another", name),
				"leave it out, or say how much is cached, for example --cache-share 0.90 --prefix-groups 4")
		case set && p.Groups <= 1 && (name == "popularity" || name == "order"):
			return usageError(fmt.Sprintf("--%s has no effect with one group of prompts", name), "leave it out, or give --prefix-groups 2 or more")
		}
	}
	return nil
}

// drawn is a seed that nobody has used; it has 32 bits so that it can be read
// out.
func drawn() uint64 {
	var b [4]byte
	rand.Read(b[:])
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

func (a *app) build(cmd *cobra.Command, to outFile, p synth.Params, tok synth.Tokenizer, old *synth.Manifest) error {
	b, err := synth.NewBuilder(p, tok)
	if err != nil {
		return usageError(err.Error())
	}
	if old != nil {
		if err := b.SameFiles(old); err != nil {
			return usageError(err.Error())
		}
	}
	out, prepare := to.path, ""
	if p.Prepare {
		prepare = strings.TrimSuffix(out, ".jsonl") + ".prepare.jsonl"
	}
	for _, path := range []string{out, manifestName(out), prepare} {
		if _, err := os.Lstat(path); path != "" && err == nil && !to.force {
			return usageError(path+": there is such a file already; nothing is overwritten", "another name, or --force, which writes over the set")
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := a.writeSet(ctx, b, to, prepare)
	if err != nil {
		return datasetError(ctx, err)
	}
	a.describeSet(out, prepare, m)
	return nil
}

// writeSet writes the set, then its manifest, each whole or not at all.
func (a *app) writeSet(ctx context.Context, b *synth.Builder, to outFile, prepare string) (m *synth.Manifest, err error) {
	show := a.loading()
	defer show.done()
	write := func(f, pf *os.File) (err error) {
		w := bufio.NewWriterSize(f, 1<<20)
		var pw *bufio.Writer
		if pf == nil {
			m, err = b.Write(ctx, w, nil, show.of("building"))
		} else {
			pw = bufio.NewWriterSize(pf, 1<<20)
			m, err = b.Write(ctx, w, pw, show.of("building"))
		}
		if err != nil {
			return err
		}
		if pw != nil {
			if err := pw.Flush(); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	put := to.writer()
	err = put(to.path, func(f *os.File) error {
		if prepare == "" {
			return write(f, nil)
		}
		return put(prepare, func(pf *os.File) error { return write(f, pf) })
	})
	if err != nil {
		return nil, err
	}
	m.Name(to.path, prepare)
	return m, put(manifestName(to.path), func(f *os.File) error { return m.Write(f) })
}

func (a *app) describeSet(out, prepare string, m *synth.Manifest) {
	s := m.Summary
	fmt.Fprintf(a.stdout, "%s: %d rows, %d bytes, sha256 %s\n", out, m.Data.Rows, m.Data.Bytes, m.Data.SHA256)
	span := func(label string, x synth.Span) {
		if x.Sum == 0 {
			return
		}
		if x.Min == x.Max {
			fmt.Fprintf(a.stdout, "  %-10s %d tokens each\n", label, x.Min)
			return
		}
		fmt.Fprintf(a.stdout, "  %-10s %d to %d tokens, mean %.1f\n", label, x.Min, x.Max, x.Mean)
	}
	span("content", s.Content)
	span("templated", s.Templated)
	span("output", s.Output)
	fmt.Fprintf(a.stdout, "  cached     %d of %d tokens expected (%.4f %%), pages of %d, rows one after another into an empty cache\n",
		s.Expected, s.Templated.Sum, 100*s.ExpectedShare, m.Params.PageSize)
	if s.RepeatShare > 0 {
		fmt.Fprintf(a.stdout, "             %.4f %% in the %d rows whose prefix was there before; %d rows touch theirs first\n",
			100*s.RepeatShare, m.Data.Rows-s.FirstTouches, s.FirstTouches)
	}
	fmt.Fprintf(a.stdout, "  seed       %d, salt %d; tokenizer %s, sha256 %.12s…\n", m.Params.Seed, m.Params.Salt, m.Tokenizer.Name, m.Tokenizer.SHA256)
	fmt.Fprintf(a.stdout, "  manifest   %s\n", manifestName(out))
	if prepare != "" {
		fmt.Fprintf(a.stdout, "  prepare    %s: %d requests, to be sent first\n", prepare, m.Prepare.Rows)
	}
	for _, n := range m.Notes {
		fmt.Fprintf(a.stdout, "  note       %s\n", n)
	}
}
