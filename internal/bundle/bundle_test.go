package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

const (
	specText = "name: x\n"
	planText = `{"schema":"tokentape.plan/1"}` + "\n"
	rowsText = `{"question":"hi"}` + "\n"
	setText  = `{"schema":"tokentape.dataset/1"}` + "\n"
)

// recorded is a sealed tape of one request, changed by edit before it is sealed.
func recorded(t testing.TB, compress bool, edit func(h *tape.Header)) []byte {
	t.Helper()
	h := &tape.Header{
		Type: "header", Schema: tape.Schema, Run: "RUN", Spec: []byte(`{}`), SpecSHA256: hexOf([]byte(specText)),
		Plan:  tape.PlanRef{SHA256: hexOf([]byte(planText)), Rows: 1, Kind: "rows"},
		Data:  tape.DataRef{Path: "d.jsonl", Bytes: int64(len(rowsText)), Rows: 1, SHA256: hexOf([]byte(rowsText))},
		Cache: &tape.CachePlan{By: tape.CacheByManifest, From: &tape.FileRef{Path: "d.jsonl.manifest.json", SHA256: hexOf([]byte(setText))}},
	}
	if edit != nil {
		edit(h)
	}
	var b bytes.Buffer
	w := tape.NewWriter(&b, compress)
	for _, line := range []any{
		h, &tape.Request{Type: "request", Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, Attempts: 1},
		&tape.Footer{Type: "footer", Reason: tape.ReasonCompleted, Planned: 1, OK: 1, Failed: map[string]int64{}},
	} {
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parts is a whole pack before it is written.
type parts struct {
	manifest Manifest
	files    map[string][]byte
}

func whole(t testing.TB) *parts {
	return &parts{
		Manifest{Run: "RUN", Tool: "test", Prompts: true, Datasets: []Dataset{{Path: "d.jsonl", Bytes: int64(len(rowsText)), Rows: 1, SHA256: hexOf([]byte(rowsText)),
			File: "dataset-0.jsonl", Manifest: "dataset-0.manifest.json", ManifestPath: "d.jsonl.manifest.json"}}},
		map[string][]byte{
			tape.NameCompressed: recorded(t, true, nil), SpecName: []byte(specText), PlanName: []byte(planText), ResultsName: []byte("{}\n"),
			"dataset-0.jsonl": []byte(rowsText), "dataset-0.manifest.json": []byte(setText), LogName: nil,
		},
	}
}

func (p *parts) write(t testing.TB) []byte {
	t.Helper()
	var members []Source
	for name, b := range p.files { // in any order
		members = append(members, Bytes(name, b))
	}
	var b bytes.Buffer
	if err := Write(&b, p.manifest, members); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func verify(b []byte) (*Report, error) {
	p, err := read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return p.Verify()
}

func (r *Report) said(s State) string {
	var out []string
	for _, f := range r.Findings {
		if f.State == s {
			out = append(out, f.What+": "+f.Why)
		}
	}
	return strings.Join(out, "\n")
}

func TestWhole(t *testing.T) {
	p := whole(t)
	b := p.write(t)
	for range 5 {
		if !bytes.Equal(p.write(t), b) {
			t.Fatal("the same members gave other bytes")
		}
	}
	r, err := verify(b)
	if err != nil || !r.Whole() || r.SHA256 != hexOf(b) || r.said(NotProved) != "" {
		t.Fatalf("%v\n%+v", err, r)
	}
	var proved []string
	for _, f := range r.Findings {
		proved = append(proved, f.What)
	}
	if !slices.Equal(proved, []string{"checksums", "tape", "run", "spec", "plan", "dataset", "dataset manifest"}) {
		t.Errorf("proved %v", proved)
	}
	path := filepath.Join(t.TempDir(), "p.zip")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := tape.OpenFile(path) // where it lies
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if rec, err := in.Next(); err != nil || rec.(*tape.Header).Run != "RUN" {
		t.Errorf("%v, %v", rec, err)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))) // as any other program
	if err != nil || len(z.File) != len(p.files)+2 || z.File[0].Name != ManifestName || z.File[1].Name != SumsName {
		t.Errorf("%v", err)
	}
}

// Whatever members a pack has, it reads back whole, and gives every member as it was.
func TestRoundTrip(t *testing.T) {
	text := rapid.SliceOfN(rapid.Byte(), 0, 2000)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{tape.NameCompressed, tape.NamePlain}).Draw(rt, "tape")
		p := &parts{Manifest{Run: "RUN", Without: []string{SpecName, PlanName}, Datasets: []Dataset{}}, map[string][]byte{
			name: recorded(t, name == tape.NameCompressed, func(h *tape.Header) { h.SpecSHA256, h.Plan, h.Data, h.Cache = "", tape.PlanRef{}, tape.DataRef{}, nil }),
		}}
		for _, n := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{SpecName, ResultsName, "report.html", "stats.csv", LogName, PowerName}), rapid.ID).Draw(rt, "names") {
			p.files[n] = text.Draw(rt, n)
		}
		b := p.write(t)
		r, err := verify(b)
		if err != nil || !r.Whole() {
			rt.Fatalf("%v %+v", err, r)
		}
		pack, err := read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			rt.Fatal(err)
		}
		for n, want := range p.files {
			in, err := pack.Open(n)
			if err != nil {
				rt.Fatal(err)
			}
			if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, want) {
				rt.Fatalf("%s: %v", n, err)
			}
		}
	})
}

// No byte of a pack can change, be lost or be added without being seen.
func TestEveryByteCounts(t *testing.T) {
	b := whole(t).write(t)
	bad := func(b []byte) bool {
		r, err := verify(b)
		return err != nil || !r.Whole()
	}
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1 << (i % 8)
		if !bad(c) {
			t.Errorf("byte %d of %d changed unseen", i, len(b))
		}
	}
	for i := 0; i < len(b); i += 7 {
		if !bad(b[:i]) {
			t.Errorf("cut after %d of %d bytes unseen", i, len(b))
		}
		if !bad(slices.Insert(slices.Clone(b), i, 0)) {
			t.Errorf("a byte more at %d unseen", i)
		}
	}
	if !bad(append(slices.Clone(b), '\n')) {
		t.Error("a byte more at the end unseen")
	}
}

// A pack that agrees with itself is still held against its tape.
func TestPackAgainstTape(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		state      State
		edit       func(p *parts)
	}{
		{"tape changed", "tape: tape.jsonl: line 3 (byte", Broken, func(p *parts) {
			delete(p.files, tape.NameCompressed)
			p.files[tape.NamePlain] = bytes.Replace(recorded(t, false, nil), []byte(`"attempts":1`), []byte(`"attempts":2`), 1)
		}},
		{"tape without its end", "ends without its footer", Broken, func(p *parts) {
			delete(p.files, tape.NameCompressed)
			b := recorded(t, false, nil)
			p.files[tape.NamePlain] = b[:bytes.Index(b, []byte(`{"type":"footer"`))]
		}},
		{"no tape at all", "not a tape", Broken, func(p *parts) { p.files[tape.NameCompressed] = []byte("hello") }},
		{"of another run", `pack.json is of run "OTHER", the tape of "RUN"`, Broken, func(p *parts) { p.manifest.Run = "OTHER" }},
		{"another spec", "spec: spec.yaml has sha256", Broken, func(p *parts) { p.files[SpecName] = []byte("name: y\n") }},
		{"another plan", "plan: plan.jsonl has sha256", Broken, func(p *parts) { p.files[PlanName] = []byte("{}\n") }},
		{"plan lost", "plan: plan.jsonl is missing, though the tape names it", Broken, func(p *parts) { delete(p.files, PlanName) }},
		{"plan never there", "plan: plan.jsonl is not in the pack: the run's folder had none", NotProved, func(p *parts) { delete(p.files, PlanName); p.manifest.Without = []string{PlanName} }},
		{"another dataset", "dataset: dataset-0.jsonl has sha256", Broken, func(p *parts) { p.files["dataset-0.jsonl"] = []byte("{}") }},
		{"dataset of another hash", "describes another than the tape names", Broken, func(p *parts) {
			p.files["dataset-0.jsonl"] = []byte("{}")
			p.manifest.Datasets[0].SHA256 = hexOf([]byte("{}"))
		}},
		{"dataset lost", "dataset: dataset-0.jsonl has sha256 …", Broken, func(p *parts) { delete(p.files, "dataset-0.jsonl") }},
		{"prompts that nobody announced", "belongs to no dataset", Broken, func(p *parts) { p.files["dataset-1.jsonl"] = []byte("{}") }},
		{"prompts left out", "is not in the pack", NotProved, func(p *parts) {
			delete(p.files, "dataset-0.jsonl")
			p.manifest.Datasets[0].File, p.manifest.Prompts = "", false
		}},
		{"a promise of prompts", "says prompts: true, and the pack holds otherwise", Broken, func(p *parts) {
			delete(p.files, "dataset-0.jsonl")
			p.manifest.Datasets[0].File = ""
		}},
		{"another manifest", "dataset manifest: dataset-0.manifest.json has sha256", Broken, func(p *parts) { p.files["dataset-0.manifest.json"] = []byte("{}") }},
		{"manifest lost", "is named in pack.json and missing", Broken, func(p *parts) { delete(p.files, "dataset-0.manifest.json") }},
		{"fewer datasets", "the tape names 1 datasets, pack.json 0", Broken, func(p *parts) { p.manifest.Datasets = nil }},
		{"an older tape", "the tape does not name the hash of spec.yaml", NotProved, func(p *parts) {
			p.files[tape.NameCompressed] = recorded(t, true, func(h *tape.Header) { h.SpecSHA256 = "" })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := whole(t)
			tc.edit(p)
			r, err := verify(p.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if r.Whole() != (tc.state == NotProved) || !strings.Contains(r.said(tc.state), tc.want) {
				t.Errorf("want %s %q:\n%s", tc.state, tc.want, r.said(tc.state))
			}
		})
	}
}

// Packs that are made to harm are refused by name.
func TestHostile(t *testing.T) {
	type member struct {
		h    zip.FileHeader
		body []byte
	}
	good := func() []member {
		var ms []member
		z, err := zip.NewReader(bytes.NewReader(whole(t).write(t)), int64(len(whole(t).write(t))))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			raw, _ := f.OpenRaw()
			body, _ := io.ReadAll(raw)
			ms = append(ms, member{f.FileHeader, body})
		}
		return ms
	}
	made := func(ms []member, comment string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := range ms {
			w, err := z.CreateRaw(&ms[i].h)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(ms[i].body)
		}
		z.SetComment(comment)
		z.Close()
		return b.Bytes()
	}
	last := func(ms []member) *member { return &ms[len(ms)-1] } // the tape
	for _, tc := range []struct {
		name, want string
		pack       func() []byte
	}{
		{"nothing", "no zip archive", func() []byte { return nil }},
		{"a text", "no zip archive", func() []byte { return []byte("hello") }},
		{"cut short", "cut short", func() []byte { b := whole(t).write(t); return b[:len(b)-30] }},
		{"a path that leads out", `"../../etc/cron.d/x" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = "../../etc/cron.d/x"; return made(ms, "") }},
		{"an absolute path", `"/etc/passwd" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = "/etc/passwd"; return made(ms, "") }},
		{"a Windows path", `"..\\x" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = `..\x`; return made(ms, "") }},
		{"a folder", `"sub/spec.yaml" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = "sub/spec.yaml"; return made(ms, "") }},
		{"a name that steers", `"\x1b[2Jspec.yaml" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = "\x1b[2Jspec.yaml"; return made(ms, "") }},
		{"no name", `"" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = ""; return made(ms, "") }},
		{"a program", `"run.sh" is no file of a pack`, func() []byte { ms := good(); ms[2].h.Name = "run.sh"; return made(ms, "") }},
		{"a link", "is no regular file (L", func() []byte { ms := good(); ms[2].h.ExternalAttrs = 0o120777 << 16; return made(ms, "") }},
		{"a device", "is no regular file", func() []byte { ms := good(); ms[2].h.ExternalAttrs = 0o060644 << 16; return made(ms, "") }},
		{"a file for all to run", "is not packed as tokentape packs", func() []byte { ms := good(); ms[2].h.ExternalAttrs = 0o104755 << 16; return made(ms, "") }},
		{"twice", "pack.json twice", func() []byte { ms := good(); return made(append(ms, ms[0]), "") }},
		{"two tapes", "two tapes: ", func() []byte { ms := good(); m := *last(ms); m.h.Name = tape.NamePlain; return made(append(ms, m), "") }},
		{"no tape", "no tape in it", func() []byte { ms := good(); return made(ms[:len(ms)-1], "") }},
		{"no list", "without pack.json and SHA256SUMS", func() []byte { ms := good(); return made(slices.Delete(ms, 1, 2), "") }},
		{"a comment", "a comment", func() []byte { return made(good(), "hello") }},
		{"a member's comment", "is not packed as tokentape packs", func() []byte { ms := good(); ms[2].h.Comment = "x"; return made(ms, "") }},
		{"more beside a name", "is not packed as tokentape packs", func() []byte { ms := good(); ms[2].h.Extra = []byte{1, 2, 0, 0}; return made(ms, "") }},
		{"encrypted", "is not packed as tokentape packs: flags 0x1", func() []byte { ms := good(); ms[2].h.Flags = 1; return made(ms, "") }},
		//lint:ignore SA1019 it is the field that is written
		{"a time", "is not packed as tokentape packs", func() []byte { ms := good(); ms[2].h.ModifiedTime = 7; return made(ms, "") }},
		{"a method", "is packed by method 12", func() []byte { ms := good(); ms[2].h.Method = 12; return made(ms, "") }},
		{"a tape packed once more", "tape.jsonl.zst is packed by method 8", func() []byte { ms := good(); last(ms).h.Method = zip.Deflate; return made(ms, "") }},
		{"a bomb", "unfolds from", func() []byte { ms := good(); ms[2].h.UncompressedSize64 = 3 << 30; return made(ms, "") }},
		{"a large list", "has 5000000 bytes; at most", func() []byte {
			ms := good()
			ms[1].h.UncompressedSize64 = 5e6
			ms[1].h.CompressedSize64 = 1e5
			ms[1].body = make([]byte, 1e5)
			return made(ms, "")
		}},
		{"a tape of another size", "tape.jsonl.zst has impossible sizes", func() []byte { ms := good(); last(ms).h.UncompressedSize64++; return made(ms, "") }},
		{"something before it", "something lies between, before or over the members", func() []byte { return append([]byte("PK\x03\x04hidden"), whole(t).write(t)...) }},
		{"something at the end", "not a pack|cut short|belong to no member|comment", func() []byte { return append(whole(t).write(t), make([]byte, 70000)...) }},
		{"sized otherwise where it lies", "otherwise where it lies than in the list at the end", func() []byte {
			b := whole(t).write(t)
			binary.LittleEndian.PutUint32(b[22:], 7)
			return b
		}},
		{"called otherwise where it lies", "otherwise where it lies than in the list at the end", func() []byte { b := whole(t).write(t); copy(b[30:], "evil.json"); return b }},
		{"members without end", "members; a pack has at most", func() []byte {
			ms := good()
			for i := range maxMembers {
				m := ms[2]
				m.h.Name = fmt.Sprintf("dataset-%d", i+7)
				ms = append(ms, m)
			}
			return made(ms, "")
		}},
		{"newer", `made by a newer tokentape: "tokentape.pack/2"`, func() []byte {
			b := whole(t).write(t)
			return repack(t, b, func(text []byte) []byte { return bytes.Replace(text, []byte("pack/1"), []byte("pack/2"), 1) })
		}},
		{"another schema", `pack.json has the schema "x", not tokentape.pack/1`, func() []byte {
			return repack(t, whole(t).write(t), func([]byte) []byte { return []byte(`{"schema":"x"}`) })
		}},
		{"no JSON", "pack.json: ", func() []byte {
			return repack(t, whole(t).write(t), func([]byte) []byte { return []byte(`{"schema":7}`) })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := verify(tc.pack())
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("not refused: %v", err)
			}
			for _, want := range strings.Split(tc.want, "|") {
				if strings.Contains(err.Error(), want) {
					return
				}
			}
			t.Errorf("%v, want %q", err, tc.want)
		})
	}
}

// repack writes a pack again with another pack.json, as Write would.
func repack(t testing.TB, b []byte, edit func([]byte) []byte) []byte {
	t.Helper()
	p, err := read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range p.members {
		r, _ := m.Open()
		text, _ := io.ReadAll(r)
		if m.Name == ManifestName {
			text = edit(text)
		}
		s, err := measure(Bytes(m.Name, text))
		if err == nil {
			err = s.write(z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	return out.Bytes()
}

// What a pack may not have is not packed, and what changes meanwhile is noticed.
func TestWriteRefuses(t *testing.T) {
	n := 0
	changing := Source{SpecName, func() (io.ReadCloser, error) {
		n++
		return io.NopCloser(strings.NewReader(strings.Repeat("x", n))), nil
	}}
	for want, members := range map[string][]Source{
		`"id_rsa" is no file of a pack`:          {Bytes("id_rsa", nil)},
		`"pack.json" is no file of a pack`:       {Bytes(ManifestName, nil)},
		"spec.yaml twice":                        {Bytes(SpecName, nil), Bytes(SpecName, nil)},
		"spec.yaml changed while it was packed":  {changing},
		"plan.jsonl: open /nowhere/x: no such":   {{PlanName, func() (io.ReadCloser, error) { return os.Open("/nowhere/x") }}},
		`"../dataset-0.jsonl" is no file of a p`: {Bytes("../dataset-0.jsonl", nil)},
	} {
		if err := Write(io.Discard, Manifest{}, members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b := whole(f).write(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := verify(b)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("an error of the pack that is none: %v", err)
			}
			return
		}
		if r.Whole() && (r.Header == nil || r.SHA256 != hexOf(b)) {
			t.Fatal("whole without a tape")
		}
	})
}
