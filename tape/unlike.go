package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unlike is one fact that must not differ between merged runs and does: pooled,
// they would answer no question at all.
type Unlike struct {
	Path   string   // of the header: "spec.workload.stream", "server.version"
	Values []string // the different values, in the order of the parts
}

// String is "path: A → B".
func (u Unlike) String() string { return u.Path + ": " + strings.Join(u.Values, " → ") }

// UnlikeError refuses a merge.
type UnlikeError struct{ Differences []Unlike }

func (e *UnlikeError) Error() string {
	lines := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		lines[i] = d.String()
	}
	return "tape: the runs are not alike, and pooled they would answer no question: " + strings.Join(lines, "; ")
}

// free are the settings of a spec that may differ: they do not change what one
// request meets, or are held together otherwise (contents by hash, caps and rates
// by groups). A path stands for all below it.
var free = []string{
	"spec.name", "spec.notes", "spec.provenance", "spec.seeds", "spec.telemetry", "spec.record.compress", "spec.report.windows",
	"spec.target.api_key", "spec.target.tokenizer", "spec.target.ca_file", "spec.target.cert_file", "spec.target.key_file", "spec.target.resolve",
	"spec.workload.dataset.path", "spec.workload.dataset.skip", "spec.workload.dataset.limit", "spec.workload.mix[].dataset", "spec.prepare.dataset",
	"spec.load.requests", "spec.load.sessions", "spec.load.duration", "spec.load.warmup",
	"spec.load.concurrency", "spec.load.session_concurrency", "spec.load.rate",
}

// unlike lists what differs between the parts and must not, sorted by path.
func unlike(parts []*source) []Unlike {
	facts := make([]map[string]string, len(parts))
	all := map[string]bool{}
	for i, p := range parts {
		facts[i] = factsOf(&p.Header)
		for path := range facts[i] {
			all[path] = true
		}
	}
	var out []Unlike
	for _, path := range slices.Sorted(maps.Keys(all)) {
		var values []string
		for _, f := range facts {
			v := f[path]
			if v == "" {
				v = "(none)"
			}
			values = union(values, []string{clip(v)})
		}
		if len(values) > 1 {
			out = append(out, Unlike{path, values})
		}
	}
	for _, path := range []string{"load.concurrency", "load.rate"} {
		var values []string
		for _, v := range groupSums(parts, path) {
			values = union(values, []string{strconv.FormatFloat(v, 'g', -1, 64)})
		}
		if len(values) > 1 {
			out = append(out, Unlike{"spec." + path + " (added up where runs overlap)", values})
		}
	}
	return append(out, clocks(parts)...)
}

// factsOf are the values of a header that must be alike, by path.
func factsOf(h *Header) map[string]string {
	out := map[string]string{
		"server.url": h.Server.URL, "server.engine": h.Server.Engine, "server.version": h.Server.Version, "server.model": h.Server.Model,
		"server.urls": strings.Join(h.Server.URLs, ", "), "dataset.sha256": dataSum(h), "plan.kind": h.Plan.Kind, "anchor.read_stamp": h.Anchor.ReadStamp,
	}
	if h.Tok != nil {
		out["tokenizer.sha256"] = h.Tok.SHA256
	}
	if h.Cache != nil {
		out["cache"] = fmt.Sprintf("by %s, zero %t", h.Cache.By, h.Cache.Zero)
	}
	if h.Import != nil {
		out["import.tool"] = h.Import.Tool
	}
	d := json.NewDecoder(bytes.NewReader(h.Spec))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		leaves(out, "spec", v)
	}
	return out
}

func dataSum(h *Header) string { return h.Data.SHA256 }

// leaves puts every leaf that is not free into out; null and "" are absent.
func leaves(out map[string]string, path string, v any) {
	for _, f := range free {
		if generic := indexes(path); generic == f {
			return
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			leaves(out, path+"."+k, e)
		}
	case []any:
		for i, e := range v {
			leaves(out, fmt.Sprintf("%s[%d]", path, i), e)
		}
	case nil:
	default:
		out[path] = fmt.Sprint(v)
	}
}

// indexes writes a[3].b as a[].b.
func indexes(path string) string {
	var b strings.Builder
	for in := false; len(path) > 0; path = path[1:] {
		c := path[0]
		if in = in && c != ']'; !in {
			b.WriteByte(c)
		}
		in = in || c == '['
	}
	return b.String()
}

// number is the value at a path of a spec, 0 where none is.
func number(spec json.RawMessage, path string) float64 {
	section, name, _ := strings.Cut(path, ".")
	var v map[string]json.RawMessage
	var in map[string]json.RawMessage
	var n float64
	if json.Unmarshal(spec, &v) != nil || json.Unmarshal(v[section], &in) != nil || json.Unmarshal(in[name], &n) != nil {
		return 0
	}
	return n
}

// groupSums adds up a number of the spec over the parts of each group; 0 where a
// part of it has none, since none means without limit.
func groupSums(parts []*source, path string) []float64 {
	var sums []float64
	var none []bool
	for _, p := range parts {
		for int64(len(sums)) <= p.Group {
			sums, none = append(sums, 0), append(none, false)
		}
		n := number(p.Header.Spec, path)
		sums[p.Group] += n
		none[p.Group] = none[p.Group] || n == 0
	}
	for g := range sums {
		if none[g] {
			sums[g] = 0
		}
	}
	return sums
}

// mergedSpec is the first part's, with what the parts asked for together: requests
// and sessions of all, caps and rates of the group that has most.
func mergedSpec(parts []*source) json.RawMessage {
	first := parts[0].Header.Spec
	if len(parts) == 1 {
		return first
	}
	var spec, load map[string]json.RawMessage
	if json.Unmarshal(first, &spec) != nil || json.Unmarshal(spec["load"], &load) != nil || load == nil {
		return first
	}
	set := func(name string, n float64) {
		if _, ok := load[name]; ok && n > 0 {
			load[name], _ = json.Marshal(n)
		}
	}
	for _, name := range []string{"concurrency", "session_concurrency", "rate"} {
		set(name, slices.Max(groupSums(parts, "load."+name)))
	}
	for _, name := range []string{"requests", "sessions", "warmup"} {
		sum := 0.0
		for _, p := range parts {
			sum += number(p.Header.Spec, "load."+name)
		}
		set(name, sum)
	}
	var err error
	if spec["load"], err = json.Marshal(load); err != nil {
		return first
	}
	out, err := json.Marshal(spec)
	if err != nil {
		return first
	}
	return out
}

// Clocks of one machine may differ by clockSlack where they are held together;
// parts further apart than apart were hardly one experiment.
const (
	clockSlack = int64(100 * time.Millisecond)
	apart      = 366 * 24 * time.Hour
)

// clocks says where anchors contradict each other: of one host, whose monotonic
// clock all its runs share until it restarts; and of any, when years lie between.
func clocks(parts []*source) []Unlike {
	var out []Unlike
	for i, a := range parts {
		for _, b := range parts[i+1:] {
			ha, hb := &a.Header, &b.Header
			if ha.Host.Name == "" || ha.Host.Name != hb.Host.Name || ha.Anchor.Machine == 0 || hb.Anchor.Machine == 0 || !a.From.OK || !b.From.OK {
				continue
			}
			wall, machine := b.Shift-a.Shift, hb.Anchor.Machine-ha.Anchor.Machine
			by := func(d int64) (from, to int64) { return b.From.V - wall + d, b.To.V - wall + d }
			overlap := func(d int64) bool { from, to := by(d); return from < a.To.V && to > a.From.V }
			if off := wall - machine; max(off, -off) > clockSlack && (overlap(wall) || overlap(machine)) {
				out = append(out, Unlike{"anchor of " + ha.Run + " and " + hb.Run + " on host " + ha.Host.Name, []string{
					fmt.Sprintf("by the wall clock the second began %s after the first", time.Duration(wall)),
					fmt.Sprintf("by the machine's monotonic clock %s: the clock was set between them, the machine restarted, or these are two machines of one name", time.Duration(machine)),
				}})
			}
		}
	}
	if first, last := parts[0], parts[len(parts)-1]; last.at.Sub(first.at) > apart {
		out = append(out, Unlike{fmt.Sprintf("anchor.wall (%d days apart: a clock was wrong, or these runs do not belong together)", int(last.at.Sub(first.at).Hours()/24)),
			[]string{first.Header.Anchor.Wall, last.Header.Anchor.Wall}})
	}
	return out
}
