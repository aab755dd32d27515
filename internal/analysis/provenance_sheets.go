package analysis

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tokentape/tape"
)

func (r *run) runSheet(h *tape.Header, footer *tape.Footer) sheet {
	s := sheet{Section{Name: "run"}}
	s.text("id", h.Run)
	s.textIf("name", h.Name)
	s.text("began", toMilliseconds(h.Anchor.Wall))
	stop := "incomplete: the tape has no footer"
	if footer != nil {
		stop = strings.TrimSpace(footer.Reason + "  " + footer.Message)
	}
	s.text("ended", stop)
	s.text("command", shellText(h.Command))
	if h.Import != nil {
		s.text("imported from", h.Import.Tool+", "+h.Import.Path)
	}
	spec := ""
	switch {
	case h.SpecSHA256 != "": // the hash that sha256sum and check give
		spec = "spec.yaml, sha256 " + h.SpecSHA256
	case len(h.Spec) > 0 && string(h.Spec) != "null":
		sum := sha256.Sum256(h.Spec)
		spec = "as the tape holds it, JSON, sha256 " + hex.EncodeToString(sum[:])
	}
	s.text("specification", spec)
	for _, n := range h.Notes {
		s.text("said before it", n)
	}
	return s
}

// toMilliseconds cuts a time of day where digits begin that nobody reads; what is no
// such time stays.
func toMilliseconds(wall string) string {
	t, err := time.Parse(time.RFC3339Nano, wall)
	if err != nil {
		return wall
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}

// shellText joins words so that a shell takes them apart again, as far as they are
// simple.
func shellText(words []string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'$&|;<>(){}*?#~`\\!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func notesSheet(spec json.RawMessage) sheet {
	s := sheet{Section{Name: "notes"}}
	var of struct {
		Notes map[string]string `json:"notes"`
	}
	_ = json.Unmarshal(spec, &of) // a foreign tape's may be anything
	for _, name := range slices.Sorted(maps.Keys(of.Notes)) {
		s.text(name, of.Notes[name])
	}
	return s
}

func toolSheet(t tape.Tool) sheet {
	s := sheet{Section{Name: "tool"}}
	s.text("version", t.Version)
	s.text("source revision", t.VCS)
	s.text("source changed", whether(t.Modified))
	s.text("revision's time", t.VCSTime)
	s.text("program's time", t.Built)
	s.text("compiler", t.Go)
	s.text("platform", t.Platform)
	s.textIf("module sum", t.Sum)
	return s
}

func planSheet(h *tape.Header) sheet {
	s := sheet{Section{Name: "load and data"}}
	plan := h.Plan.Kind
	if h.Plan.Rows > 0 {
		plan += ", " + plural(h.Plan.Rows, "row")
	}
	if h.Plan.Warmup > 0 {
		plan += fmt.Sprintf(", %s of them warm-up", thousands(h.Plan.Warmup))
	}
	s.text("plan", plan)
	s.text("plan sha256", h.Plan.SHA256)
	data := func(name string, d tape.DataRef) {
		s.text(name, d.Path)
		s.bytes(name+" size", d.Bytes)
		s.count(name+" rows", d.Rows, "")
		s.text(name+" sha256", d.SHA256)
	}
	if len(h.Parts) == 0 {
		data("dataset", h.Data)
	}
	for i, d := range h.Parts {
		data(fmt.Sprintf("dataset %d", i+1), d)
	}
	tok, sum := "none: the server's counts alone", ""
	if h.Tok != nil {
		tok, sum = h.Tok.Path, h.Tok.SHA256
		if h.Tok.Content {
			tok += " (no chat template)"
		}
	}
	s.text("tokenizer", tok)
	if h.Tok != nil {
		s.text("tokenizer sha256", sum)
	}
	if h.Cache != nil && h.Cache.From != nil {
		s.text("set's manifest", h.Cache.From.Path)
		s.text("manifest sha256", h.Cache.From.SHA256)
	}
	return s
}

func hostSheet(h tape.Host) sheet {
	s := sheet{Section{Name: "client's machine"}}
	s.text("name", h.Name)
	s.text("system", join2(" ", h.OS, h.Arch))
	s.text("distribution", h.Distribution)
	s.text("kernel", h.Kernel)
	s.text("processor", h.CPUModel)
	s.count("physical cores", h.Cores, "")
	s.count("logical processors", h.Logical, "")
	s.count("usable processors", int64(h.CPUs), "")
	s.text("cgroup CPU quota", quantity(h.Quota, "%.3g cores"))
	s.bytes("memory", h.Memory)
	s.bytes("cgroup memory limit", h.MemoryLimit)
	s.text("clock source", h.ClockSource)
	s.text("clock kept in step", whether(h.NTP))
	s.text("time zone", h.Zone)
	s.text("governor", h.Governor)
	s.text("container", h.Container)
	s.text("hypervisor", h.Hypervisor)
	s.count("descriptor limit", h.NoFile, "")
	s.count("ephemeral ports", h.Ports, "")
	s.count("GOMAXPROCS", h.MaxProcs, "")
	s.text("GOGC", h.GC)
	load := ""
	if len(h.Load) > 0 {
		load = strings.Trim(fmt.Sprint(h.Load), "[]") + " (1, 5, 15 min)"
	}
	s.text("load before", load)
	s.bytes("memory available before", h.Available)
	if h.Steal.OK {
		h.Steal.V *= 100
	}
	s.text("stolen since boot", quantity(h.Steal, "%.3g %%"))
	return s
}

func quantity(o tape.Opt[float64], format string) string {
	if !o.OK {
		return ""
	}
	return fmt.Sprintf(format, o.V)
}

// join2 joins what is not empty.
func join2(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}

func sourceSheet(g *tape.Source) sheet {
	s := sheet{Section{Name: "source folder"}}
	s.text("path", g.Path)
	s.text("commit", g.Commit)
	s.text("branch", g.Branch)
	s.text("describe", g.Describe)
	changed := ""
	if g.Changed.OK {
		if changed = "none"; g.Changed.V > 0 {
			changed = plural(g.Changed.V, "tracked file")
		}
		if g.Untracked.V > 0 {
			changed += fmt.Sprintf(", and %s", plural(g.Untracked.V, "untracked one"))
		}
	}
	s.text("changes", changed)
	s.textIf("diff sha256", g.Diff)
	s.textIf("remark", g.Why)
	return s
}

func serverSheet(v *tape.Server) sheet {
	s := sheet{Section{Name: "server"}}
	if len(v.URLs) == 0 {
		s.text("URL", v.URL)
	}
	for i, u := range v.URLs {
		s.text(fmt.Sprintf("URL %d", i), u)
	}
	s.text("engine", v.Engine)
	s.text("version", v.Version)
	s.text("model asked for", v.Model)
	s.text("models listed", strings.Join(v.Models, ", "))
	s.text("address", v.Remote)
	for _, a := range v.Addresses {
		s.text("name looked up once", a)
	}
	s.textIf("proxy", v.Proxy)
	s.textIf("HTTP", v.HTTP)
	if t := v.TLS; t != nil {
		proved := "certificate checked"
		if t.Unproved {
			proved = "certificate not checked"
		}
		s.text("TLS", join2(", ", t.Version, t.Cipher, t.ALPN, proved))
	}
	return s
}

// repliesSheet is which models the replies of a part named.
func (r *run) repliesSheet(part int64) sheet {
	s := sheet{Section{Name: "replies"}}
	by, _ := r.replies()
	for i, names := range by {
		if r.servers[i].part != part {
			continue
		}
		for _, x := range names {
			name := short(x.name, 200)
			if x.name == "" {
				name = cmp.Or(short(r.askedOf(i), 200), "the one that the body asked for")
			}
			s.text("model named", fmt.Sprintf("%s: %s, first in %s", name, strings.ReplaceAll(plural(x.n, "reply"), "replys", "replies"), RequestName(x.first)))
		}
	}
	if len(s.Facts) == 0 {
		s.text("model named", "")
	}
	return s
}

// sheet is what a server said of itself, what changed first.
func (t testimony) sheet() sheet {
	s := sheet{Section{Name: "what " + t.url + " says of itself", Long: true}}
	f := cmp.Or(t.before, t.after)
	changed, moved, compared := t.shifts()
	seen := map[string]bool{}
	for _, x := range slices.Concat(changed, moved) {
		seen[x.name] = true
		s.text(x.name, cmp.Or(x.before, "(none)"))
		s.Facts[len(s.Facts)-1].After = cmp.Or(x.after, "(none)")
	}
	switch {
	case t.before == nil || t.after == nil:
		s.text("asked again after the run", "")
	case !t.after.OK:
		s.text("asked again after the run", "no answer")
	default:
		s.text("asked again after the run", fmt.Sprintf("%s compared, %d changed, %d numbers moved", plural(int64(compared), "fact"), len(changed), len(moved)))
	}
	for _, name := range []string{"engine", "version"} {
		if v := map[string]string{"engine": f.Engine, "version": f.Version}[name]; !seen[name] {
			s.text(name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Facts)) {
		if !seen[name] {
			s.text(name, f.Facts[name])
		}
	}
	if n := len(f.Moving); n > 0 {
		s.text("not kept, they move by themselves", strings.Join(f.Moving, ", "))
	}
	if f.Left > 0 {
		s.text("not kept, for want of room", plural(f.Left, "further fact"))
	}
	for _, at := range slices.Sorted(maps.Keys(failedOf(t.after))) {
		s.text(at+" after the run", failedOf(t.after)[at])
	}
	return s
}

func failedOf(f *tape.ServerFacts) map[string]string {
	if f == nil {
		return nil
	}
	return f.Failed
}
