package tape

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// MergeOptions are those of Merge.
type MergeOptions struct {
	Tool  Tool // the program that merges
	Force bool // merge runs that are not alike; what differs is written down
	// Watch is told how far the reading of a tape is: first of all, then of all again;
	// in bytes, total 0 where it is not known. Optional.
	Watch func(path string, done, total int64)
}

// source is one part while it is merged, and where its lines are.
type source struct {
	Part
	path string
	old  *Part      // its numbers in the file at path; nil: it is not merged
	in   Opt[int64] // its index there
	at   time.Time  // its anchor

	seqs, prepared, conns int64 // one more than the highest of each
	count                 Footer
}

// Merge writes the tapes at paths to w as one: on one clock, by their anchors, one
// part after the other. It reads every tape twice and holds none: memory is that of
// a reader. The order of paths changes nothing, and a tape that is itself merged
// counts as its parts.
//
// Errors: a file that cannot be read or is no tape; the same run twice; a tape
// whose anchor is missing or no time of a run; an *UnlikeError, unless forced. A
// tape that is torn or edited is merged as far as it goes, and its part says so.
func Merge(w *Writer, paths []string, o MergeOptions) (*Header, error) {
	var parts []*source
	for _, path := range paths {
		found, err := survey(path, o.Watch)
		if err != nil {
			return nil, err
		}
		parts = append(parts, found...)
	}
	if len(parts) == 0 {
		return nil, errors.New("tape: no tape to merge")
	}
	if err := arrange(parts); err != nil {
		return nil, err
	}
	differ := unlike(parts)
	if len(differ) > 0 && !o.Force {
		return nil, &UnlikeError{differ}
	}
	h := mergedHeader(parts, differ, o)
	if err := w.Write(h); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if err := p.copy(w, int64(i), o.Watch); err != nil {
			return nil, err
		}
	}
	return h, w.Write(mergedFooter(parts))
}

// survey reads a tape once and says what its parts are.
func survey(path string, watch func(string, int64, int64)) ([]*source, error) {
	if i, err := os.Stat(path); err == nil && !i.Mode().IsRegular() {
		return nil, fmt.Errorf("tape: %s is no file: a merge reads its tapes twice", path)
	}
	r, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.watchAs(path, watch)
	r.Ahead(readers)
	var parts []*source
	var fault string // the first
	var faults int64
	var footer *Footer
	merged := false
	of := func(rec Record) *source {
		i := partOf(rec).Or(0)
		if !merged || i < 0 || i >= int64(len(parts)) {
			return parts[0]
		}
		return parts[i]
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch rec := rec.(type) {
		case *Header:
			if rec.Merged == nil || len(rec.Merged.Parts) == 0 {
				parts = []*source{{Part: Part{Header: *rec}, path: path}}
				continue
			}
			merged = true
			for i, p := range rec.Merged.Parts {
				old := p
				parts = append(parts, &source{Part: p, path: path, old: &old, in: Some(int64(i))})
			}
		case *Request:
			of(rec).see(rec)
		case *Fault:
			if faults++; faults == 1 {
				fault = rec.String()
			}
		case *Footer:
			footer = rec
		}
	}
	switch {
	case len(parts) == 0:
		return nil, fmt.Errorf("tape: %s: empty: no header", path)
	case merged && (faults > 0 || footer == nil):
		return nil, fmt.Errorf("tape: %s: a merged tape that is not whole (%s): merge the tapes that it was made of", path, cmp.Or(fault, "it has no footer"))
	case !merged:
		p := parts[0]
		p.SHA256, p.Footer, p.Faults, p.Fault = r.SHA256(), footer, faults, fault
	}
	return parts, nil
}

func (r *Reader) watchAs(path string, watch func(string, int64, int64)) {
	if watch != nil {
		r.Watch(func(done, total int64) { watch(path, done, total) })
	}
}

// see takes note of a request.
func (p *source) see(q *Request) {
	own := *q
	if q.Conn != nil {
		c := *q.Conn
		own.Conn = &c
	}
	own.AttemptLog = nil
	move(&own, p.old, nil, Opt[int64]{})
	if own.Seq >= PrepareSeq {
		p.prepared = max(p.prepared, own.Seq-PrepareSeq+1)
	} else {
		p.seqs = max(p.seqs, own.Seq+1)
	}
	if own.Conn != nil {
		p.conns = max(p.conns, own.Conn.ID)
	}
	if p.old == nil && own.TReleased.OK { // else From and To are known
		p.From = Some(min(own.TReleased.V, p.From.Or(own.TReleased.V)))
		end := max(own.TReleased.V, own.TEnd.Or(own.TReleased.V))
		p.To = Some(max(end, p.To.Or(end)))
	}
	p.tally(&own)
}

// tally counts as a footer does.
func (p *source) tally(q *Request) {
	c := &p.count
	c.TEnd = max(c.TEnd, q.TEnd.V)
	switch q.Phase {
	case PhaseMeasure:
	case PhaseWarmup:
		c.Preparation++
		c.Warmup = Some(c.Warmup.V + 1)
		return
	case PhaseTail:
		c.Preparation++
		c.Tail = Some(c.Tail.V + 1)
		return
	default:
		c.Preparation++
		return
	}
	c.Planned++
	switch q.Outcome {
	case OutcomeOK:
		c.OK++
	case OutcomeCancelled:
		c.Cancelled++
	case OutcomeAbandoned:
		c.Abandoned++
	default:
		if c.Failed == nil {
			c.Failed = map[string]int64{}
		}
		c.Failed[string(q.Outcome)]++
	}
}

// arrange puts the parts in their order and on one clock. Error: a run twice, or
// an anchor that is none.
func arrange(parts []*source) error {
	slices.SortStableFunc(parts, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.Header.Run, b.Header.Run), cmp.Compare(a.SHA256, b.SHA256))
	})
	for i, p := range parts[1:] {
		if before := parts[i]; before.Header.Run == p.Header.Run && p.Header.Run != "" || before.SHA256 == p.SHA256 {
			return fmt.Errorf("tape: %s and %s hold the same run, %s: its requests would count twice", before.path, p.path, p.Header.Run)
		}
	}
	for _, p := range parts {
		var err error
		if p.at, err = p.Header.Anchor.wallTime(); err != nil && len(parts) > 1 {
			return fmt.Errorf("tape: %s %w: it cannot be put on one clock with others", p.path, err)
		}
	}
	slices.SortStableFunc(parts, func(a, b *source) int { return a.at.Compare(b.at) })
	var seq, prepare, conn int64
	for _, p := range parts {
		shift := int64(p.at.Sub(parts[0].at))
		by := shift - p.Shift // of a part of a merged tape From and To are shifted already
		later(&p.From, by)
		later(&p.To, by)
		p.Shift, p.Seq, p.Prepare, p.Conn = shift, seq, prepare, conn
		seq, prepare, conn = seq+p.seqs, prepare+p.prepared, conn+p.conns
	}
	group(parts)
	return nil
}

// copy writes the lines of a part as those of part i.
func (p *source) copy(w *Writer, i int64, watch func(string, int64, int64)) error {
	r, err := OpenFile(p.path)
	if err != nil {
		return err
	}
	defer r.Close()
	r.Trust()
	r.watchAs(p.path, watch)
	r.Ahead(readers)
	n := 0
	var found source
	found.old = p.old
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch rec.(type) {
		case *Header, *Footer, *Fault:
			continue
		}
		if p.old != nil && partOf(rec) != p.in {
			continue
		}
		if q, ok := rec.(*Request); ok {
			found.see(q)
		}
		move(rec, p.old, &p.Part, Some(i))
		if err := w.Write(rec); err != nil {
			return err
		}
		if n++; n%flushLines == 0 { // a frame by itself: damage to it costs no more
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if found.seqs != p.seqs || found.prepared != p.prepared || found.conns != p.conns || !sameCounts(&found.count, &p.count) {
		return fmt.Errorf("tape: %s changed while it was merged: merge it again when nothing writes to it", p.path)
	}
	return w.Flush()
}

// readers is how many goroutines parse ahead of one that writes.
const readers = 2

// flushLines is how many lines a frame of a merged tape holds at most.
const flushLines = 2048

func sameCounts(a, b *Footer) bool {
	return a.Planned == b.Planned && a.OK == b.OK && a.Cancelled == b.Cancelled && a.Abandoned == b.Abandoned &&
		a.Preparation == b.Preparation && a.TEnd == b.TEnd && maps.Equal(a.Failed, b.Failed)
}

// mergedFooter adds up the footers. Of a part without one its lines count.
func mergedFooter(parts []*source) *Footer {
	out := &Footer{Failed: map[string]int64{}}
	var reasons []string
	warmup, tail := true, true
	for _, p := range parts {
		f := &p.count
		reason := "no footer"
		if p.Footer != nil {
			f, reason = p.Footer, p.Footer.Reason
		} else {
			f.Warmup, f.Tail = Some(f.Warmup.V), Some(f.Tail.V)
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		out.Planned += f.Planned
		out.OK += f.OK
		out.Cancelled += f.Cancelled
		out.Abandoned += f.Abandoned
		out.NotIssued += f.NotIssued
		out.Preparation += f.Preparation
		for class, n := range f.Failed {
			out.Failed[class] += n
		}
		warmup, tail = warmup && f.Warmup.OK, tail && f.Tail.OK
		out.Warmup.V += f.Warmup.V
		out.Tail.V += f.Tail.V
		out.TEnd = max(out.TEnd, f.TEnd+p.Shift)
		if out.Message == "" {
			out.Message = f.Message
		}
	}
	out.Warmup.OK, out.Tail.OK = warmup, tail
	out.Reason = reasons[0]
	if len(reasons) > 1 || parts[0].Footer == nil {
		slices.Sort(reasons)
		out.Reason, out.Message = ReasonMerged, "the parts ended as: "+strings.Join(reasons, ", ")
	}
	return out
}

// mergedHeader is what holds for all parts; where they differ, all of it in words,
// or nothing.
func mergedHeader(parts []*source, differ []Unlike, o MergeOptions) *Header {
	first := &parts[0].Header
	text := func(of func(*Header) string) string { return strings.Join(distinct(parts, of), ", ") }
	h := &Header{
		Name: text(func(h *Header) string { return h.Name }), Tool: o.Tool, Spec: mergedSpec(parts),
		Anchor: Anchor{Wall: first.Anchor.Wall, Clock: first.Anchor.Clock, ReadStamp: text(func(h *Header) string { return h.Anchor.ReadStamp })},
		Plan:   PlanRef{Kind: text(func(h *Header) string { return h.Plan.Kind })},
		Host: Host{Name: text(func(h *Header) string { return h.Host.Name }), OS: text(func(h *Header) string { return h.Host.OS }),
			Arch: text(func(h *Header) string { return h.Host.Arch }), Kernel: text(func(h *Header) string { return h.Host.Kernel }),
			CPUs: first.Host.CPUs, NoFile: first.Host.NoFile, Ports: first.Host.Ports},
		Server: Server{URL: text(func(h *Header) string { return h.Server.URL }), Engine: text(func(h *Header) string { return h.Server.Engine }),
			Version: text(func(h *Header) string { return h.Server.Version }), Model: text(func(h *Header) string { return h.Server.Model }),
			Remote: text(func(h *Header) string { return h.Server.Remote }), Proxy: text(func(h *Header) string { return h.Server.Proxy }),
			HTTP: text(func(h *Header) string { return h.Server.HTTP }), TLS: first.Server.TLS},
		Merged: &Merged{},
	}
	if len(distinct(parts, func(h *Header) string { return h.Host.Name })) == 1 {
		h.Anchor.Machine = first.Anchor.Machine
		if !slices.ContainsFunc(parts, func(p *source) bool { return !reflect.DeepEqual(p.Header.Envelope, first.Envelope) }) {
			h.Envelope = first.Envelope
		}
	}
	plan, id := sha256.New(), sha256.New()
	for i, p := range parts {
		q := &p.Header
		io.WriteString(plan, q.Plan.SHA256+"\n")
		io.WriteString(id, p.SHA256+"\n")
		h.Plan.Rows += q.Plan.Rows
		h.Plan.Warmup += q.Plan.Warmup
		h.Host.CPUs, h.Host.NoFile, h.Host.Ports = min(h.Host.CPUs, q.Host.CPUs), min(h.Host.NoFile, q.Host.NoFile), min(h.Host.Ports, q.Host.Ports)
		h.Server.Models = union(h.Server.Models, q.Server.Models)
		h.Server.Addresses = union(h.Server.Addresses, q.Server.Addresses)
		h.Notes = union(h.Notes, q.Notes)
		if i == 0 {
			h.Data, h.Parts, h.Server.URLs, h.Tok, h.Cache, h.Import = q.Data, q.Parts, q.Server.URLs, q.Tok, q.Cache, q.Import
		}
		h.Merged.Parts = append(h.Merged.Parts, p.Part)
	}
	h.Plan.SHA256 = hex.EncodeToString(plan.Sum(nil))
	h.Run = "merged-" + hex.EncodeToString(id.Sum(nil))[:16]
	if len(parts) == 1 {
		h.Run, h.Plan.SHA256, h.Anchor = first.Run, first.Plan.SHA256, first.Anchor
	} else if at := parts[0].at; !at.IsZero() {
		h.Run = at.UTC().Format("20060102T150405Z") + "-" + h.Run
	}
	if sums := distinct(parts, dataSum); len(sums) > 1 { // forced
		all := sha256.New()
		h.Data = DataRef{Path: text(func(h *Header) string { return h.Data.Path })}
		h.Parts = nil
		for _, sum := range sums {
			io.WriteString(all, sum+"\n")
		}
		for _, p := range parts {
			h.Data.Bytes += p.Header.Data.Bytes
			h.Data.Rows += p.Header.Data.Rows
		}
		h.Data.SHA256 = hex.EncodeToString(all.Sum(nil))
	}
	h.Notes = append(h.Notes, remarks(parts)...)
	for _, d := range differ {
		h.Merged.Forced = append(h.Merged.Forced, d.String())
		h.Notes = append(h.Notes, "merged by force although the runs are not alike: "+d.String())
	}
	return h
}

// remarks are what a reader of the merged tape must know of its parts.
func remarks(parts []*source) []string {
	if len(parts) < 2 {
		return nil
	}
	groups := int64(0)
	for _, p := range parts {
		groups = max(groups, p.Group+1)
	}
	text := fmt.Sprintf("merged from %d tapes that ran at the same time: their caps and rates add up", len(parts))
	switch {
	case groups == int64(len(parts)):
		text = fmt.Sprintf("merged from %d tapes that ran one after the other: requests are pooled, the time between the runs is in no rate", len(parts))
	case groups > 1:
		text = fmt.Sprintf("merged from %d tapes in %d groups one after the other: within a group, where tapes ran at the same time, caps and rates add up; the time between groups is in no rate", len(parts), groups)
	}
	out := []string{text}
	for g := range groups {
		var hosts []string
		n := 0
		for _, p := range parts {
			if p.Group == g {
				n++
				hosts = union(hosts, []string{cmp.Or(p.Header.Host.Name, "of unknown name")})
			}
		}
		if n > 1 && (len(hosts) > 1 || hosts[0] == "of unknown name") {
			out = append(out, fmt.Sprintf("%d tapes ran at the same time on hosts %s, on one clock by these hosts' wall clocks: rates over the union and the number in flight carry what these clocks differ by, latencies do not", n, strings.Join(hosts, ", ")))
			break
		}
	}
	return out
}

// distinct are the different values of the parts, in their order, without the empty
// one unless there is no other.
func distinct(parts []*source, of func(*Header) string) []string {
	var out []string
	for _, p := range parts {
		if v := of(&p.Header); v != "" {
			out = union(out, []string{v})
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

func union(a, b []string) []string {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(slices.Clip(a), v)
		}
	}
	return a
}
