package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/bundle"
	"tokentape/tape"
)

func (a *app) packCommand() *cobra.Command {
	var out string
	var prompts bool
	cmd := &cobra.Command{
		Use:   "pack RUN",
		Short: "Make one file of a run, for others to read and check",
		Long: `pack puts a run into one file: its tape, spec, plan, reports and log, the manifest
of its dataset, and checksums of all of them. RUN is what report takes. The pack is a
zip archive, the same bytes for the same files. It takes the files that tokentape
writes into a run's folder, and power.csv, by their names; no other file of the folder.
The prompts stay out, unless --prompts asks for the dataset: then its hash must be the one that the tape names.

tokentape check PACK proves that a pack is whole. Verbs that read a run read a pack
too: tokentape report PACK.`,
		Example: `  tokentape pack runs/first-run/2026-11-30T040000Z
  tokentape pack runs/first-run -o first-run.zip --prompts`,
		Args: oneRun("pack", 0),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file to write, which must not exist yet; default: RUN-ID.tokentape.zip here")
	cmd.Flags().BoolVar(&prompts, "prompts", false, "pack the dataset too")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		path, err := a.findRun(args[0])
		if err != nil {
			return err
		}
		return a.pack(path, out, prompts)
	}
	return cmd
}

// packing is what goes into a pack.
type packing struct {
	path, dir string // of the tape, and of its folder; "" for a tape alone
	manifest  bundle.Manifest
	members   []bundle.Source
}

func (a *app) pack(path, out string, prompts bool) error {
	if tape.Packed(path) {
		return usageError(path+" is a pack already", "tokentape check "+path)
	}
	h := tapeHead(path)
	if h == nil {
		_, err := analysis.AnalyseFile(path, analysis.Options{NoCI: true})
		if err == nil {
			err = fmt.Errorf("%s: no header that can be read", path)
		}
		return tapeError(err)
	}
	p := packing{path: path, manifest: bundle.Manifest{Run: h.Run, Name: h.Name, Tool: version(), Prompts: prompts, Datasets: []bundle.Dataset{}}}
	if base := filepath.Base(path); base == tape.NameCompressed || base == tape.NamePlain {
		p.dir = filepath.Dir(path)
	}
	if err := p.files(); err != nil {
		return err
	}
	if err := p.datasets(h, prompts); err != nil {
		return err
	}
	show := a.during("packing the run")
	defer show.done()
	if err := p.reports(show); err != nil {
		return err
	}
	if out == "" {
		out = folderName(h.Run) + ".tokentape.zip"
	}
	if err := writeNew(out, func(f *os.File) error { return bundle.Write(f, p.manifest, p.members) }); err != nil {
		return usageError(err.Error(), "another place: -o FILE")
	}
	show.done()
	return a.packed(out)
}

// files takes what tokentape wrote of the run.
func (p *packing) files() error {
	name := tape.NamePlain
	if compressed(p.path) {
		name = tape.NameCompressed
	}
	p.add(name, p.path)
	for _, name := range bundle.FromFolder() {
		if name == tape.NameCompressed || name == tape.NamePlain {
			continue
		}
		if p.dir != "" {
			switch st, err := os.Lstat(filepath.Join(p.dir, name)); {
			case err == nil && st.Mode().IsRegular():
				p.add(name, filepath.Join(p.dir, name))
				continue
			case err == nil:
				return usageError(fmt.Sprintf("%s is no regular file (%s): a run writes none such", filepath.Join(p.dir, name), st.Mode()), "put the file itself there, or take it away")
			case !errors.Is(err, fs.ErrNotExist):
				return usageError(err.Error())
			}
		}
		if name == bundle.SpecName || name == bundle.PlanName {
			p.manifest.Without = append(p.manifest.Without, name)
		}
	}
	return nil
}

func (p *packing) add(name, path string) {
	p.members = append(p.members, bundle.Source{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
}

func (p *packing) has(name string) bool {
	return slices.ContainsFunc(p.members, func(s bundle.Source) bool { return s.Name == name })
}

// compressed reports whether a tape is.
func compressed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	n, _ := io.ReadFull(f, head[:])
	return n == 4 && string(head[:]) == "\x28\xb5\x2f\xfd"
}

// datasets takes the manifests of the datasets that the tape names, and with
// prompts the datasets.
func (p *packing) datasets(h *tape.Header, prompts bool) error {
	of := h.Parts
	if len(of) == 0 && h.Data != (tape.DataRef{}) {
		of = []tape.DataRef{h.Data}
	}
	for i, ref := range of {
		d := bundle.Dataset{Path: ref.Path, Bytes: ref.Bytes, Rows: ref.Rows, SHA256: ref.SHA256}
		if from := manifestName(ref.Path); ref.Path == "" || h.Import != nil {
			d.WithoutWhy = "the run was imported"
		} else if !fileExists(from) {
			d.WithoutWhy = "there is no " + from
		} else {
			d.Manifest, d.ManifestPath = fmt.Sprintf("dataset-%d.manifest.json", i), from
			p.add(d.Manifest, from)
		}
		if prompts {
			if err := sameData(ref); err != nil {
				return err
			}
			d.File = fmt.Sprintf("dataset-%d%s", i, dataExt(ref.Path))
			p.add(d.File, ref.Path)
		}
		p.manifest.Datasets = append(p.manifest.Datasets, d)
	}
	if prompts && len(of) == 0 {
		return usageError("--prompts: the tape names no dataset", "leave --prompts out")
	}
	return nil
}

// dataExt are the endings of a dataset's name that say what it is.
func dataExt(path string) string {
	name, ext := strings.ToLower(filepath.Base(path)), ""
	for range 2 {
		e := filepath.Ext(name)
		if len(e) < 2 || len(e) > 9 || strings.Trim(e[1:], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			break
		}
		name, ext = strings.TrimSuffix(name, e), e+ext
	}
	if name == "" { // ".jsonl"
		return ""
	}
	return ext
}

// sameData proves that a dataset is still the one of the tape.
func sameData(ref tape.DataRef) error {
	hint := "leave --prompts out, or run it from the folder where the run was started, with the dataset as it was"
	f, err := os.Open(ref.Path)
	if err != nil {
		return usageError("--prompts: "+err.Error(), hint)
	}
	defer f.Close()
	sum, n, err := hashOf(f)
	switch {
	case err != nil:
		return usageError(fmt.Sprintf("--prompts: %s: %v", ref.Path, err), hint)
	case sum != ref.SHA256 || n != ref.Bytes:
		return usageError(fmt.Sprintf("--prompts: %s is not what the run was made with: %d bytes, sha256 %.12s…; the tape names %d, %.12s…", ref.Path, n, sum, ref.Bytes, ref.SHA256), hint)
	}
	return nil
}

// reports makes those that a run always has and this folder has not: a killed run's,
// or a tape's alone.
func (p *packing) reports(show *loading) error {
	if p.has(bundle.ResultsName) {
		return nil
	}
	res, err := analyse(p.path, analysis.Options{Watch: show.tape()}, "")
	if err != nil {
		return tapeError(err)
	}
	for _, v := range packedViews {
		if p.has(v.name) {
			continue
		}
		var b bytes.Buffer
		if err := v.view(&b, res); err != nil {
			return &exitError{code: exitInternal, msg: v.name + ": " + err.Error()}
		}
		p.members = append(p.members, bundle.Bytes(v.name, b.Bytes()))
		p.manifest.Made = append(p.manifest.Made, v.name)
	}
	return nil
}

// packed says what is in the pack that was just written, and what check makes of it.
func (a *app) packed(path string) error {
	b, err := bundle.Open(path)
	if err != nil {
		return &exitError{code: exitInternal, msg: "the pack that was just written cannot be read: " + err.Error()}
	}
	defer b.Close()
	r, err := b.Verify()
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	fmt.Fprintf(a.stdout, "%s: %d bytes, sha256 %s\n", path, r.Bytes, r.SHA256)
	fmt.Fprintf(a.stdout, "  holds  %s\n", strings.Join(b.Names(), ", "))
	m := b.Manifest
	if len(m.Made) > 0 {
		fmt.Fprintf(a.stdout, "  made   %s, of the tape: the run's folder had none\n", strings.Join(m.Made, ", "))
	}
	switch {
	case m.Prompts:
		fmt.Fprintln(a.stdout, "  note   the prompts are in it (--prompts)")
	default:
		fmt.Fprintln(a.stdout, "  note   the prompts are not in it; --prompts packs the dataset too")
	}
	if texts(r.Header) {
		fmt.Fprintln(a.stdout, "  note   generated texts are in it: the run was recorded with record.output: full")
	}
	for _, f := range r.Findings {
		if f.State == bundle.Broken {
			fmt.Fprintf(a.stdout, "  note   %s: %s\n", f.What, printable(f.Why))
		}
	}
	fmt.Fprintf(a.stdout, "  → tokentape check %s\n", path)
	return nil
}
