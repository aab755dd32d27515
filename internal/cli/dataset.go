package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tokentape/internal/spec"
	"tokentape/internal/workload/rows"
	"tokentape/internal/workload/synth"
)

func (a *app) datasetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dataset",
		Short: "Inspect, build and verify datasets by their tokens",
		Long: `dataset tells what a file of rows asks of a server and of its prefix cache, builds
sets of prompts of exact token lengths with a known share of cached tokens, and
holds a set against the manifest that it was built with.`,
	}
	cmd.AddCommand(a.inspectCommand(), a.buildCommand(), a.verifyCommand())
	return cmd
}

// rowFlags say how a file is read and counted.
type rowFlags struct {
	workload        spec.Workload
	seed            int64
	tokenizer, chat string
	spec            bool // a spec says how
}

func (f *rowFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.defaults()
	w := &f.workload
	fs.StringVar(&w.Dataset.Format, "format", w.Dataset.Format, "of the file, as workload.dataset.format")
	fs.StringVar(&w.Template, "template", w.Template, "prompt of a row, fields in braces")
	fs.StringVar(&w.System, "system", "", "system message in front of every prompt")
	f.registerTokenizer(cmd)
}

func (f *rowFlags) defaults() {
	s := spec.Default()
	f.workload, f.seed = s.Workload, s.Seeds.Run
}

func (f *rowFlags) registerTokenizer(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.tokenizer, "tokenizer", "", "the model's folder or tokenizer file; sim: the simulated server's")
	fs.StringVar(&f.chat, "chat-template", "auto", "auto: the model's own; none: none is used; or a text with {content} in it")
}

// set is an open file of rows.
type set struct {
	*rows.Source
}

// argument is what settings are called when the file is the command's argument.
var argument = map[string]string{
	"with --dataset or workload.dataset.path": "as FILE",
	"workload.dataset.path":                   "FILE",
	"workload.dataset.format":                 "--format",
	"workload.template":                       "--template",
	"workload.system":                         "--system",
}

// open reads a file as run would.
func (f *rowFlags) open(path string, show *loading) (*set, error) {
	f.workload.Dataset.Path = path
	o := rows.Options{Watch: show.file()}
	if !f.spec {
		o.Names = argument
	}
	s, err := rows.OpenWith(f.workload, f.seed, o)
	if err != nil {
		show.done()
		return nil, usageError(err.Error())
	}
	return &set{s}, nil
}

func (s *set) close() { s.Close() }

func (s *set) data() synth.Data {
	i := s.Info()
	return synth.Data{File: i.Path, Bytes: i.Bytes, Rows: int(s.Len()), SHA256: i.SHA256}
}

// line is the line on which item i begins.
func (s *set) line(i int) string {
	at := s.Where(int64(i))
	return at[strings.LastIndexByte(at, ':')+1:]
}

// check refuses what a spec with the same settings would be refused for.
func (f *rowFlags) check() error {
	s := spec.Default()
	s.Workload = f.workload
	var errs []string
	for _, i := range s.Validate() {
		if !i.Warning {
			errs = append(errs, i.Format())
		}
	}
	if len(errs) == 0 {
		return nil
	}
	var pairs []string
	for _, old := range sortedKeys(argument) {
		pairs = append(pairs, old, argument[old])
	}
	return usageError(strings.NewReplacer(pairs...).Replace(strings.Join(errs, "\n")))
}

func (a *app) inspectCommand() *cobra.Command {
	var f rowFlags
	var o synth.InspectOptions
	var specFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Rows, lengths, duplicates and shared prefixes of a dataset",
		Example: `  tokentape dataset inspect data.jsonl --tokenizer ~/models/Qwen3-8B
  tokentape dataset inspect data.jsonl --tokenizer ~/models/Qwen3-8B --page-size 64 --cache-tokens 500000`,
		Args: cobra.ExactArgs(1),
	}
	f.register(cmd)
	cmd.Flags().IntVar(&o.PageSize, "page-size", 16, "tokens of a page of the server's prefix cache")
	cmd.Flags().Int64Var(&o.Capacity, "cache-tokens", 0, "tokens that the cache holds; 0: no limit")
	cmd.Flags().StringVar(&specFile, "spec", "", "read the rows as a run of this spec does: columns, filter, template, system")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.PageSize < 1 || o.Capacity < 0 {
			return usageError("--page-size must be at least 1 token, --cache-tokens 0 or more")
		}
		if specFile != "" {
			for _, name := range []string{"format", "template", "system"} {
				if cmd.Flags().Changed(name) {
					return usageError("--"+name+" has no effect beside --spec, which says it", "leave one of them out")
				}
			}
			if _, err := a.fromSpec(specFile, &f); err != nil {
				return err
			}
		}
		var tok synth.Tokenizer
		var err error
		if f.tokenizer != "" {
			if tok, err = loadTokenizer(f.tokenizer, f.chat); err != nil {
				return err
			}
		} else if cmd.Flags().Changed("page-size") || cmd.Flags().Changed("cache-tokens") || cmd.Flags().Changed("chat-template") {
			return usageError("--page-size, --cache-tokens and --chat-template have no effect without --tokenizer", "add --tokenizer with the model's folder")
		}
		if specFile == "" {
			if err := f.check(); err != nil {
				return err
			}
		}
		show := a.loading()
		defer show.done()
		file, err := f.open(args[0], show)
		if err != nil {
			return err
		}
		defer file.close()
		ctx, stop := interruptible(cmd)
		defer stop()
		x, err := synth.Inspect(ctx, file, tok, o, show.of("inspecting"))
		show.done()
		if err != nil {
			return datasetError(ctx, err)
		}
		x.Data = file.data()
		if asJSON {
			return writeJSON(a.stdout, x)
		}
		writeInspection(a.stdout, x, file)
		return nil
	}
	return cmd
}

// interruptible ends with Ctrl-C, so that no half-written file stays behind.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	return signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
}

func datasetError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, msg: "interrupted; nothing was written"}
	}
	var e *exitError
	if errors.As(err, &e) {
		return err
	}
	return usageError(err.Error())
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func writeInspection(w io.Writer, x *synth.Inspection, file *set) {
	fmt.Fprintf(w, "%s\n  %d rows, %d bytes, sha256 %s\n", x.Data.File, x.Data.Rows, x.Data.Bytes, x.Data.SHA256)
	fmt.Fprintf(w, "\n  %-18s %10s %10s %10s %10s %10s %10s\n", "of a row", "mean", "min", "p50", "p90", "p99", "max")
	line := func(label string, d *synth.Dist) {
		if d != nil {
			fmt.Fprintf(w, "  %-18s %10.1f %10d %10d %10d %10d %10d\n", label, d.Mean, d.Min, d.P50, d.P90, d.P99, d.Max)
		}
	}
	line("characters", &x.Characters)
	line("bytes", &x.Bytes)
	line("content tokens", x.Content)
	line("templated tokens", x.Templated)
	line("own max_tokens", x.Output)
	if x.Tokenizer == nil {
		fmt.Fprintln(w, "\n  tokens: not counted; give the model's own tokenizer with --tokenizer")
	} else {
		t := x.Tokenizer.Template
		if t == "" {
			t = "none; with the tokenizer's own special tokens"
		}
		fmt.Fprintf(w, "\n  tokenizer %s, sha256 %.12s…; chat template: %s\n", x.Tokenizer.Name, x.Tokenizer.SHA256, t)
	}
	if d := x.Duplicates; d.Rows > 0 {
		fmt.Fprintf(w, "  duplicates: %d rows (%.2f %%) repeat an earlier one; the first is line %s, which repeats line %s\n",
			d.Rows, 100*d.Share, file.line(d.Row), file.line(d.Of))
	} else {
		fmt.Fprintln(w, "  duplicates: none")
	}
	p := x.Prefix
	fmt.Fprintf(w, "\n  prefix cache, pages of %d %s, rows one after another into an empty cache\n", p.PageSize, p.Unit)
	share := func(n int64) string {
		return fmt.Sprintf("%d of %d %s, %.4f %%", n, p.Total, p.Unit, 100*float64(n)/float64(max(p.Total, 1)))
	}
	if p.Capacity == 0 {
		fmt.Fprintf(w, "    without a limit, in any order    %s\n", share(p.Cached))
	} else {
		fmt.Fprintf(w, "    without a limit                  %s\n", share(p.Cached))
		fmt.Fprintf(w, "    %d tokens, order of the file  %s\n", p.Capacity, share(p.FileOrder))
		fmt.Fprintf(w, "    %d tokens, grouped by prefix  %s\n", p.Capacity, share(p.BestOrder))
	}
	fmt.Fprintf(w, "    all rows begin with the same %d %s\n", p.Common, p.Unit)
	const most = 10
	for i, g := range p.Groups {
		if i == most {
			fmt.Fprintf(w, "    … and %d more groups: --json\n", len(p.Groups)-most+p.More)
			break
		}
		fmt.Fprintf(w, "    %d rows from line %s on share %d %s: %.4f %% of their %s\n",
			g.Rows, file.line(g.First), g.Shared, p.Unit, 100*float64(g.Cached)/float64(max(g.Total, 1)), p.Unit)
	}
}

func (a *app) verifyCommand() *cobra.Command {
	var f rowFlags
	var manifest, specFile string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Count a built set again and hold it against its manifest",
		Long: `verify counts every row again and compares it with FILE.manifest.json: hashes,
lengths before and after templating, output lengths, expected cached tokens; a few
rows are made again from seed and parameters, and must be those of the file. With
--spec the rows are counted as a run of that spec would send them: its template,
its system message. Every difference is printed with path:line; the exit code is
then 5.`,
		Example: `  tokentape dataset verify data.jsonl --tokenizer ~/models/Qwen3-8B
  tokentape dataset verify data.jsonl --tokenizer ~/models/Qwen3-8B --spec spec.yaml`,
		Args: cobra.ExactArgs(1),
	}
	f.registerTokenizer(cmd)
	cmd.Flags().StringVar(&manifest, "manifest", "", "the manifest (default FILE.manifest.json)")
	cmd.Flags().StringVar(&specFile, "spec", "", "count the rows as a run of this spec sends them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.defaults()
		if manifest == "" {
			manifest = manifestName(args[0])
		}
		m, err := synth.ReadManifest(manifest)
		if err != nil {
			return usageError(err.Error(), "name it with --manifest; tokentape dataset build writes it beside the set")
		}
		var problems []string
		if specFile != "" {
			if problems, err = a.againstSpec(specFile, args[0], &f, m); err != nil {
				return err
			}
		}
		tok, err := a.manifestTokenizer(cmd, &f, m)
		if err != nil {
			return err
		}
		return a.verify(cmd, args[0], f, tok, m, manifest, problems)
	}
	return cmd
}

// fromSpec takes from a spec how rows are read, and its tokenizer where the flags
// name none.
func (a *app) fromSpec(path string, f *rowFlags) (*spec.Spec, error) {
	s, _, err := a.loadSpec([]string{path}, &specFlags{cmd: &cobra.Command{}})
	if err != nil {
		return nil, err
	}
	f.workload, f.seed, f.spec = s.Workload, s.Seeds.Run, true
	if f.tokenizer == "" {
		f.tokenizer = s.Target.Tokenizer
	}
	return s, nil
}

// againstSpec is fromSpec, and says what of its load the set cannot serve.
func (a *app) againstSpec(path, data string, f *rowFlags, m *synth.Manifest) (problems []string, err error) {
	s, err := a.fromSpec(path, f)
	if err != nil {
		return nil, err
	}
	if n := s.Load.Requests + s.Load.Warmup; n > int64(m.Data.Rows) {
		problems = append(problems, fmt.Sprintf("%s: load.requests and load.warmup ask for %d rows, the set has %d", path, n, m.Data.Rows))
	}
	if out := s.Workload.OutputTokens; out > 0 && m.Summary.Output.Sum > 0 {
		problems = append(problems, fmt.Sprintf("%s: workload.output_tokens %d has no effect: the rows have max_tokens of their own", path, out))
	}
	if p := s.Workload.Dataset.Path; p != "" && filepath.Base(p) != filepath.Base(data) {
		problems = append(problems, fmt.Sprintf("%s: workload.dataset.path is %s, not %s", path, p, data))
	}
	return problems, nil
}

// verify prints the differences.
func (a *app) verify(cmd *cobra.Command, path string, f rowFlags, tok synth.Tokenizer, m *synth.Manifest, manifest string, problems []string) error {
	show := a.loading()
	defer show.done()
	differs := func(n int) error {
		return &exitError{code: exitUnfit, msg: fmt.Sprintf("%s differs from %s in %d places", path, manifest, n),
			hints: []string{"make it again: tokentape dataset build --resalt " + manifest + " --out NEW.jsonl"}}
	}
	file, err := f.open(path, show)
	if err != nil {
		if n := a.notAsBuilt(path, m.Data, err); n > 0 {
			return differs(n)
		}
		return err
	}
	defer file.close()
	files := synth.Files{Rows: file, Data: file.data()}
	if m.Prepare != nil {
		p := filepath.Join(filepath.Dir(manifest), filepath.Base(m.Prepare.File))
		if fileExists(p) {
			pf, err := f.open(p, show)
			if err != nil {
				if n := a.notAsBuilt(p, *m.Prepare, err); n > 0 {
					return differs(n)
				}
				return err
			}
			defer pf.close()
			files.Prepare, files.Seeds = pf, pf.data()
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	list, err := synth.Verify(ctx, files, tok, m, show.of("counting tokens"))
	show.done()
	if err != nil {
		return datasetError(ctx, err)
	}
	for _, p := range problems {
		fmt.Fprintln(a.stdout, p)
	}
	n := len(problems)
	for _, d := range list {
		if n++; d.Note {
			n--
			fmt.Fprintf(a.stdout, "%s: note: %s\n", path, d.Text)
		} else if d.Row < 0 {
			fmt.Fprintf(a.stdout, "%s: %s\n", path, d.Text)
		} else {
			fmt.Fprintf(a.stdout, "%s:%s: %s\n", path, file.line(d.Row), d.Text)
		}
	}
	if n > 0 {
		return differs(n)
	}
	fmt.Fprintf(a.stdout, "%s: %d rows are as %s says\n", path, m.Data.Rows, manifest)
	return nil
}

// notAsBuilt prints in what a file that cannot be read as rows is not the one that was
// built, and why it cannot. It gives the number of lines; 0: it is that file, or gone.
func (a *app) notAsBuilt(path string, want synth.Data, why error) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	got := hex.EncodeToString(sum.Sum(nil))
	if err != nil || got == want.SHA256 {
		return 0
	}
	lines := []string{fmt.Sprintf("%s: SHA-256 %.12s…, the manifest says %.12s…: the file was changed", path, got, want.SHA256)}
	if n != want.Bytes {
		lines = append(lines, fmt.Sprintf("%s: %d bytes, the manifest says %d", path, n, want.Bytes))
	}
	lines = append(lines, why.Error()) // begins with the path
	for _, l := range lines {
		fmt.Fprintln(a.stdout, l)
	}
	return len(lines)
}

func manifestName(data string) string { return data + ".manifest.json" }
