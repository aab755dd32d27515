package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/bundle"
	"tokentape/internal/provenance"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/tape"
)

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check PACK",
		Short: "Prove that a pack is whole",
		Long: `check reads a pack to its end and says of each thing that must hold whether it is
proved, cannot be proved here, or is broken: the frame of the archive, the checksum
of every member, the tape's own seal, the hashes of spec, plan and dataset that the
tape names, and every report in it, which is made again from the tape. Of run.log and
power.csv nothing but their checksum can be proved, and it says so.

It proves that nothing was lost or changed by accident, and that the numbers are the
tape's. Who made the pack it does not prove: compare its sha256.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.check(args[0], asJSON) }
	return cmd
}

func (a *app) check(path string, asJSON bool) error {
	if isDir(path) || fileExists(path) && !tape.Packed(path) {
		return usageError(path+" is no pack", "tokentape pack RUN makes one; tokentape report RUN --check judges a run by its tape")
	}
	p, err := bundle.Open(path)
	if errors.Is(err, bundle.ErrRefused) {
		return &exitError{code: exitUnfit, msg: printable(err.Error()), hints: []string{"ask for the pack again, and compare sha256sum with the sender's"}}
	}
	if err != nil {
		return usageError(err.Error(), "name the file that tokentape pack made: tokentape check PACK.zip")
	}
	defer p.Close()
	show := a.during("checking the pack")
	defer show.done()
	r, err := p.Verify()
	if err != nil {
		return usageError(err.Error())
	}
	again(path, p, r, show)
	show.done()
	if asJSON {
		b, err := json.MarshalIndent(struct {
			Pack  string `json:"pack"`
			Whole bool   `json:"whole"`
			Run   string `json:"run"`
			Tool  string `json:"packed_by"`
			*bundle.Report
		}{path, r.Whole(), p.Manifest.Run, p.Manifest.Tool, r}, "", "  ")
		if err != nil {
			return &exitError{code: exitInternal, msg: err.Error()}
		}
		fmt.Fprintf(a.stdout, "%s\n", b)
	} else {
		a.showCheck(path, p, r)
	}
	if !r.Whole() {
		return &exitError{code: exitUnfit, msg: path + " is not whole", hints: []string{"ask for the pack again, and compare sha256sum with the sender's"}}
	}
	return nil
}

func (a *app) showCheck(path string, p *bundle.Pack, r *bundle.Report) {
	word := "WHOLE"
	if !r.Whole() {
		word = "NOT WHOLE"
	}
	m := p.Manifest
	fmt.Fprintf(a.stdout, "%s · %s\n", word, path)
	fmt.Fprintf(a.stdout, "  run %s, packed by tokentape %s · %d bytes, sha256 %s\n", printable(strings.TrimSpace(m.Run+" "+m.Name)), printable(m.Tool), r.Bytes, r.SHA256)
	width := 0
	for _, f := range r.Findings {
		width = max(width, len(f.What))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(a.stdout, "  %-10s  %-*s  %s\n", f.State, width, f.What, printable(f.Why))
	}
}

// packedView is a report that is computed again.
type packedView struct {
	name string                                         // in a pack
	view func(w io.Writer, r *analysis.Results) error   // as a run makes it
	also []func(w io.Writer, r *analysis.Results) error // as report can make it too
	hint string                                         // where it is another
}

// packedViews are those that a run always has.
var packedViews = []packedView{
	{name: bundle.ResultsName, view: report.JSON},
	{name: "report.txt", view: packedConsole},
	{name: "stats.csv", view: report.StatsCSV},
	{name: "requests.csv", view: report.RequestsCSV},
}

// addedViews are those that a folder may have besides, of the run or of report.
var addedViews = []packedView{
	{name: "server.csv", view: report.ServerCSV},
	{name: pageName, view: packedPage(html.Languages()[0]), also: pagesBut(html.Languages()[1:])},
	{name: "report.md", view: packedMarkdown(false), also: []func(io.Writer, *analysis.Results) error{packedMarkdown(true)},
		hint: "; if options of report made it so, pack one that was made without"},
}

func packedConsole(w io.Writer, r *analysis.Results) error {
	return report.Console(w, r, report.Options{Width: 100, Full: true})
}

func packedMarkdown(full bool) func(io.Writer, *analysis.Results) error {
	return func(w io.Writer, r *analysis.Results) error {
		return report.Markdown(w, r, report.Options{Width: 100, Full: full})
	}
}

func packedPage(lang string) func(io.Writer, *analysis.Results) error {
	return func(w io.Writer, r *analysis.Results) error { return writePage(w, r, html.Options{Lang: lang}) }
}

func pagesBut(langs []string) (out []func(io.Writer, *analysis.Results) error) {
	for _, lang := range langs {
		out = append(out, packedPage(lang))
	}
	return out
}

// made makes a view, and says whether it, or one of its other forms, is what the
// pack has. If none is, text is the form that is most like it.
func (v *packedView) made(have []byte, r *analysis.Results) (text []byte, equal bool, err error) {
	for _, view := range append([]func(io.Writer, *analysis.Results) error{v.view}, v.also...) {
		var b bytes.Buffer
		if err := view(&b, r); err != nil {
			return nil, false, err
		}
		if bytes.Equal(have, b.Bytes()) {
			return nil, true, nil
		}
		if text == nil || common(have, b.Bytes()) > common(have, text) {
			text = b.Bytes()
		}
	}
	return text, false, nil
}

// again makes the reports of the packed tape again, as the run did.
func again(path string, p *bundle.Pack, r *bundle.Report, show *loading) {
	if r.Header == nil {
		return
	}
	if !p.Has(bundle.ResultsName) {
		r.Add("results", bundle.Broken, "there is no %s, which every pack has", bundle.ResultsName)
		return
	}
	res, err := analyse(path, analysis.Options{Charts: p.Has(pageName), Watch: show.tape()}, "")
	if err != nil {
		r.Add("results", bundle.Broken, "the tape cannot be analysed: %v", err)
		return
	}
	by, same := resultsBy(p, r.Header)
	var equal []string
	for _, v := range slices.Concat(packedViews, addedViews) {
		if !p.Has(v.name) {
			continue
		}
		have, err := member(p, v.name)
		var text []byte
		var equals bool
		if err == nil {
			text, equals, err = v.made(have, res)
		}
		switch {
		case err != nil:
			r.Add("results", bundle.Broken, "%s cannot be made again: %v", v.name, err)
		case equals:
			equal = append(equal, v.name)
		case !same:
			r.Add("results", bundle.NotProved, "%s was made by another build of tokentape (%s; this is %s): %s", v.name, by, version(), firstDifference(have, text))
		default:
			r.Add("results", bundle.Broken, "%s is not what the tape says: %s%s", v.name, firstDifference(have, text), v.hint)
		}
	}
	if len(equal) > 0 {
		r.Add("results", bundle.Proved, "made again from the tape, byte for byte: %s", strings.Join(equal, ", "))
	}
	for _, m := range []struct{ name, what string }{
		{bundle.LogName, "the tape does not hold what the run logged"},
		{bundle.PowerName, "it was measured beside the run, and no tape names it; the energy in the reports is of it"},
	} {
		if p.Has(m.name) {
			r.Add(m.name, bundle.NotProved, "%s: whoever packed it could have changed it", m.what)
		}
	}
}

// resultsBy is the version that made results.json, and whether it is this one: that
// of the run, or of the pack where the run's folder had none. Builds of the same
// version that do not say of which source are told apart by when they were made.
func resultsBy(p *bundle.Pack, h *tape.Header) (by string, same bool) {
	if slices.Contains(p.Manifest.Made, bundle.ResultsName) {
		return p.Manifest.Tool, p.Manifest.Tool == version()
	}
	then, now := h.Tool, provenance.Tool(versionNumber)
	by = then.Version
	if then.VCS != "" {
		by += " (" + then.VCS + ")"
	}
	same = then.Version == now.Version && then.VCS == now.VCS && then.Go == now.Go && then.Modified == now.Modified
	if then.VCS == "" || then.Modified.V {
		same = same && then.Built == now.Built
	}
	return by, same
}

// mostResults bounds results.json, which is read whole.
const mostResults = 256 << 20

// member reads a member of a pack whole.
func member(p *bundle.Pack, name string) ([]byte, error) {
	r, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, mostResults+1))
	if err == nil && len(b) > mostResults {
		err = fmt.Errorf("more than %d MiB", mostResults>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// firstDifference is the first line in which two texts differ.
func firstDifference(packed, made []byte) string {
	a, b := strings.Split(string(packed), "\n"), strings.Split(string(made), "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			other := "nothing"
			if i < len(b) {
				from := apart(a[i], b[i])
				a[i], other = a[i][from:], clip(b[i][from:])
			}
			return fmt.Sprintf("line %d of it is %s, of the tape comes %s", i+1, clip(a[i]), other)
		}
	}
	return fmt.Sprintf("%d lines are missing", len(b)-len(a))
}

// apart is where to begin showing two lines, so that what differs is shown: at their
// beginning, or some way before the first byte that differs.
func apart(a, b string) int {
	const before, shown = 30, 70
	if n := common(a, b); n >= shown {
		return n - before
	}
	return 0
}

// common is how many bytes two texts begin with alike.
func common[T string | []byte](a, b T) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func clip(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > 80 {
		line = line[:80] + "…"
	}
	return strings.ToValidUTF8(line, "")
}

// printable takes what could steer a terminal out of a text that others wrote.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "·"))
}

// hashOf is the SHA-256 of all that r gives, in hex, and its length.
func hashOf(r io.Reader) (sum string, n int64, err error) {
	h := sha256.New()
	n, err = io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// texts reports whether the tape holds what the model said.
func texts(h *tape.Header) bool {
	var s struct {
		Record struct {
			Output string `json:"output"`
		} `json:"record"`
	}
	return h != nil && json.Unmarshal(h.Spec, &s) == nil && s.Record.Output == "full"
}
