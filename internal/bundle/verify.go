package bundle

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"tokentape/tape"
)

// State is what is known of one thing that must hold for a pack.
type State string

// The states of a Finding. NotProved is for what the tape does not say, or what is
// not in the pack; it breaks nothing.
const (
	Proved    State = "proved"
	NotProved State = "not proved"
	Broken    State = "broken"
)

// Finding is one thing that was looked at.
type Finding struct {
	What  string `json:"what"`
	State State  `json:"state"`
	Why   string `json:"why"`
}

// Report is what a pack was proved to be.
type Report struct {
	SHA256   string       `json:"sha256"` // of the pack
	Bytes    int64        `json:"bytes"`
	Header   *tape.Header `json:"-"`
	Findings []Finding    `json:"findings"`
}

// Whole reports whether nothing is broken.
func (r *Report) Whole() bool {
	for _, f := range r.Findings {
		if f.State == Broken {
			return false
		}
	}
	return true
}

// Add notes a finding.
func (r *Report) Add(what string, s State, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{what, s, fmt.Sprintf(format, args...)})
}

// Verify reads the whole pack: every checksum, the tape's own seal, and the hashes
// that the tape's header gives of other members. The error is one of reading the
// file; what is wrong with the pack is a Finding.
func (p *Pack) Verify() (*Report, error) {
	r := &Report{Bytes: p.size}
	whole := sha256.New()
	if _, err := io.Copy(whole, io.NewSectionReader(p.in, 0, p.size)); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	r.SHA256 = hex.EncodeToString(whole.Sum(nil))
	p.archive(r)
	sums := p.checksums(r)
	p.seal(r, sums)
	if h := r.Header; h != nil {
		p.named(r, h, sums)
	}
	return r, nil
}

// archive makes the archive again: whatever else was changed in it shows. Members
// are packed again where the same Go packed them, else taken as they are packed.
func (p *Pack) archive(r *Report) {
	sum := sha256.New()
	z := zip.NewWriter(sum)
	for _, m := range p.members {
		s := &sized{Source: Source{m.Name, m.Open}, size: int64(m.UncompressedSize64), packed: int64(m.CompressedSize64), crc: m.CRC32}
		w, err := z.CreateRaw(s.header())
		switch {
		case err != nil:
		case p.Manifest.Go == runtime.Version():
			err = s.through(w)
		default:
			var raw io.Reader
			if raw, err = m.OpenRaw(); err == nil {
				_, err = io.Copy(w, raw)
			}
		}
		if err != nil { // as the checksums say
			return
		}
	}
	if err := z.Close(); err == nil && hex.EncodeToString(sum.Sum(nil)) != r.SHA256 {
		r.Add("archive", Broken, "it is not the one that tokentape makes of these members: bytes between or about them were changed")
	}
}

// checksums holds every member against SHA256SUMS, and the list against the members.
func (p *Pack) checksums(r *Report) map[string]string {
	sums := map[string]string{}
	var want strings.Builder
	var broken []string
	for _, m := range p.members {
		if m.Name == SumsName {
			continue
		}
		sum := sha256.New()
		in, err := m.Open()
		if err == nil {
			_, err = io.Copy(sum, in)
			in.Close()
		}
		if err != nil {
			broken = append(broken, fmt.Sprintf("%s: %v", m.Name, err))
		}
		var full [sha256.Size]byte
		sum.Sum(full[:0])
		sums[m.Name] = hex.EncodeToString(full[:])
		want.WriteString(sumLine(full, m.Name))
	}
	list, err := p.text(SumsName)
	switch {
	case len(broken) > 0:
		r.Add("checksums", Broken, "%s", strings.Join(broken, "; "))
	case err != nil:
		r.Add("checksums", Broken, "%v", err)
	case string(list) != want.String():
		r.Add("checksums", Broken, "%s", unlike(string(list), want.String()))
	default:
		r.Add("checksums", Proved, "%d members are as %s has them, none is missing, none is unlisted", len(p.members)-1, SumsName)
	}
	return sums
}

// unlike says how a list of checksums differs from the one that the members make.
func unlike(have, want string) string {
	lines := func(s string) (order []string, of map[string]string) {
		of = map[string]string{}
		for l := range strings.Lines(s) {
			sum, name, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "  ")
			if !ok {
				sum, name = "", l
			}
			if _, twice := of[name]; !twice {
				order = append(order, name)
			}
			of[name] = sum
		}
		return order, of
	}
	listed, sums := lines(have)
	there, real := lines(want)
	var found []string
	for _, name := range there {
		switch sum, ok := sums[name]; {
		case !ok:
			found = append(found, name+" is not listed in "+SumsName)
		case sum != real[name]:
			found = append(found, fmt.Sprintf("%s has sha256 %.12s…, and %s says %s", name, real[name], SumsName, shown(sum)))
		}
	}
	for _, name := range listed {
		if _, ok := real[name]; !ok && len(found) < 20 {
			found = append(found, shown(name)+" is listed in "+SumsName+" and missing")
		}
	}
	if len(found) == 0 {
		return SumsName + " lists the members in another order or form than tokentape does"
	}
	return strings.Join(found, "; ")
}

// seal reads the tape to its end: its lines prove themselves by the footer. Of its
// hashes it gives the two by which others know it: of its lines, as reports name it,
// and of the file, where that is another.
func (p *Pack) seal(r *Report, sums map[string]string) {
	var name string
	for _, m := range p.members {
		if isTape(m.Name) {
			name = m.Name
		}
	}
	in, err := p.Open(name)
	if err != nil {
		r.Add("tape", Broken, "%v", err)
		return
	}
	defer in.Close()
	t := tape.NewReader(in)
	defer t.Close()
	var footer *tape.Footer
	var faults []string
	n := int64(0)
	for {
		rec, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.Add("tape", Broken, "%s: %v", name, err)
			return
		}
		switch x := rec.(type) {
		case *tape.Header:
			r.Header = x
		case *tape.Request:
			n++
		case *tape.Footer:
			footer = x
		case *tape.Fault:
			faults = append(faults, x.String())
		}
	}
	switch {
	case len(faults) > 0:
		r.Add("tape", Broken, "%s: %s%s", name, strings.Join(faults[:min(len(faults), 3)], "; "), more(len(faults)-3))
	case footer == nil:
		r.Add("tape", Broken, "%s ends without its footer: the run was killed, or the tape cut; nothing seals it", name)
	default:
		lines := t.SHA256()
		file := ""
		if sums[name] != lines {
			file = fmt.Sprintf(", of the file %.12s…", sums[name])
		}
		r.Add("tape", Proved, "%s: %d requests, sealed by its footer; sha256 of its lines, as reports name the tape, %.12s…%s", name, n, lines, file)
	}
	if h := r.Header; h != nil {
		if h.Run != p.Manifest.Run {
			r.Add("run", Broken, "%s is of run %s, the tape of %s", ManifestName, shown(p.Manifest.Run), shown(h.Run))
		} else {
			r.Add("run", Proved, "%s", h.Run)
		}
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}

// named holds members against what the tape's header says of them.
func (p *Pack) named(r *Report, h *tape.Header, sums map[string]string) {
	p.byHeader(r, "spec", SpecName, h.SpecSHA256, sums)
	if h.Plan.Kind == "" && h.Plan.SHA256 == "" {
		if p.Has(PlanName) {
			r.Add("plan", Broken, "the tape names no plan, and %s is one", PlanName)
		}
	} else {
		p.byHeader(r, "plan", PlanName, h.Plan.SHA256, sums)
	}
	of := h.Parts
	if len(of) == 0 && h.Data != (tape.DataRef{}) {
		of = []tape.DataRef{h.Data}
	}
	if len(of) != len(p.Manifest.Datasets) {
		r.Add("dataset", Broken, "the tape names %d datasets, %s %d", len(of), ManifestName, len(p.Manifest.Datasets))
		return
	}
	listed := map[string]bool{}
	for i, d := range p.Manifest.Datasets {
		what := "dataset"
		if len(of) > 1 {
			what = fmt.Sprintf("dataset %d", i)
		}
		listed[d.File], listed[d.Manifest] = true, true
		switch ref := of[i]; {
		case d.SHA256 != ref.SHA256 || d.Bytes != ref.Bytes || d.Rows != ref.Rows || d.Path != ref.Path:
			r.Add(what, Broken, "%s describes another than the tape names: %s, sha256 %.12s…", ManifestName, shown(d.Path), d.SHA256)
		case d.File == "":
			r.Add(what, NotProved, "%s is not in the pack", told(d))
		case sums[d.File] == "" || sums[d.File] != ref.SHA256:
			r.Add(what, Broken, "%s has sha256 %.12s…, the tape was made with %.12s…", d.File, sums[d.File], ref.SHA256)
		default:
			r.Add(what, Proved, "%s is %s as the tape names it (sha256 %.12s…)", d.File, d.Path, ref.SHA256)
		}
		if d.Manifest != "" {
			switch from := h.Cache; {
			case sums[d.Manifest] == "":
				r.Add(what+" manifest", Broken, "%s is named in %s and missing", d.Manifest, ManifestName)
			case from == nil || from.From == nil || from.From.Path != d.ManifestPath:
				r.Add(what+" manifest", NotProved, "the tape does not name the hash of %s", d.ManifestPath)
			case from.From.SHA256 != sums[d.Manifest]:
				r.Add(what+" manifest", Broken, "%s has sha256 %.12s…, the tape was made with %.12s…", d.Manifest, sums[d.Manifest], from.From.SHA256)
			default:
				r.Add(what+" manifest", Proved, "%s is %s as the tape names it", d.Manifest, d.ManifestPath)
			}
		} else if d.WithoutWhy != "" {
			r.Add(what+" manifest", NotProved, "%s", d.WithoutWhy)
		}
	}
	for _, name := range p.Names() {
		if setName.MatchString(name) && !listed[name] {
			r.Add("dataset", Broken, "%s belongs to no dataset of %s", name, ManifestName)
		}
	}
	if has := p.hasSets(); has != p.Manifest.Prompts {
		r.Add("dataset", Broken, "%s says prompts: %t, and the pack holds otherwise", ManifestName, p.Manifest.Prompts)
	}
}

func (p *Pack) hasSets() bool {
	for _, name := range p.Names() {
		if setName.MatchString(name) && !isManifest(name) {
			return true
		}
	}
	return false
}

// byHeader holds one member against the hash that the header gives.
func (p *Pack) byHeader(r *Report, what, name, want string, sums map[string]string) {
	switch have := sums[name]; {
	case have == "" && want == "":
		r.Add(what, NotProved, "no %s, and the tape names none", name)
	case have == "" && slices.Contains(p.Manifest.Without, name):
		r.Add(what, NotProved, "%s is not in the pack: the run's folder had none", name)
	case have == "":
		r.Add(what, Broken, "%s is missing, though the tape names it (sha256 %.12s…)", name, want)
	case want == "":
		r.Add(what, NotProved, "the tape does not name the hash of %s", name)
	case have != want:
		r.Add(what, Broken, "%s has sha256 %.12s…, the tape was made with %.12s…", name, have, want)
	default:
		r.Add(what, Proved, "%s is the one that the tape names (sha256 %.12s…)", name, want)
	}
}

// told names a dataset by what the tape knows of it: an imported one may have a name
// alone.
func told(d Dataset) string {
	rows, sum := "rows not observed", "sha256 not observed"
	if d.Rows > 0 {
		rows = fmt.Sprintf("%d rows", d.Rows)
	}
	if d.SHA256 != "" {
		sum = fmt.Sprintf("sha256 %.12s…", d.SHA256)
	}
	return fmt.Sprintf("%s (%s, %s)", d.Path, rows, sum)
}
