package html

import (
	"strings"

	"tokentape/internal/analysis"
)

// Bounds of what a page holds of texts.
const (
	mostMessages = 1000 // distinct ones
	messageChars = 300
	mostSessions = 20_000
)

// fineRows is how many requests a page shows to the microsecond; of more, times are
// to ten microseconds.
const fineRows = 20_000

// field is a column of numbers.
type field struct {
	name   string
	per    int64 // stored units in one, of pages with many rows
	fine   int64 // the same, of pages with few
	delta  bool
	base   string // Column.Base
	values []int64
	of     func(r *analysis.Row, per int64) int64
}

func (f *field) on(base string) *field { f.base = base; return f }

func ms(name string, of func(r *analysis.Row) *float64) *field {
	return &field{name: name, per: 100, fine: 1000, of: func(r *analysis.Row, per int64) int64 { return scaled(of(r), per) }}
}

func count(name string, of func(r *analysis.Row) *int64) *field {
	return &field{name: name, per: 1, fine: 1, of: func(r *analysis.Row, _ int64) int64 { return whole(of(r)) }}
}

// word is a column of words.
type word struct {
	name   string
	words  words
	values []int64
	of     func(r *analysis.Row) string
}

// packRows packs the rows, in plan order. missing is how many distinct messages there
// was no room for.
func packRows(p *packer, r *analysis.Results) (missing int64) {
	second := func(name string, of func(r *analysis.Row) *float64) *field {
		return &field{name: name, per: 100_000, fine: 1e6, of: func(r *analysis.Row, per int64) int64 { return scaled(of(r), per) }}
	}
	released := second("released", func(r *analysis.Row) *float64 { return r.ReleasedS })
	released.delta = true
	fields := []*field{
		{name: "seq", per: 1, fine: 1, delta: true, of: func(r *analysis.Row, _ int64) int64 { return r.Seq }},
		released,
		second("due", func(r *analysis.Row) *float64 { return r.DueS }).on("released"),
		second("ready", func(r *analysis.Row) *float64 { return r.ReadyS }).on("released"),
		ms("slot_wait", func(r *analysis.Row) *float64 { return r.SlotWaitMS }),
		ms("pacer_lag", func(r *analysis.Row) *float64 { return r.PacerLagMS }),
		ms("connect", func(r *analysis.Row) *float64 { return r.ConnectMS }),
		ms("ttft_ms", func(r *analysis.Row) *float64 { return r.TTFTMS }),
		ms("tpot_ms", func(r *analysis.Row) *float64 { return r.TPOTMS }),
		ms("itl_ms", func(r *analysis.Row) *float64 { return r.ITLMaxMS }),
		ms("e2e_ms", func(r *analysis.Row) *float64 { return r.E2EMS }),
		ms("stream_end_ms", func(r *analysis.Row) *float64 { return r.StreamEndMS }).on("e2e_ms"),
		ms("ttft_from_due_ms", func(r *analysis.Row) *float64 { return r.TTFTDueMS }).on("ttft_ms"),
		ms("e2e_from_due_ms", func(r *analysis.Row) *float64 { return r.E2EDueMS }).on("ttft_from_due_ms"),
		count("input", func(r *analysis.Row) *int64 { return r.Input }),
		count("output", func(r *analysis.Row) *int64 { return r.Output }),
		count("cached", func(r *analysis.Row) *int64 { return r.Cached }),
		count("asked", func(r *analysis.Row) *int64 { return r.Asked }),
		count("status", func(r *analysis.Row) *int64 { return some(int64(r.Status)) }),
		count("attempts", func(r *analysis.Row) *int64 { n := int64(r.Attempts); return &n }),
		count("part", func(r *analysis.Row) *int64 { return r.Part }),
		count("cached_device", func(r *analysis.Row) *int64 { return r.Device }),
		count("cached_host", func(r *analysis.Row) *int64 { return r.Host }),
		count("cached_storage", func(r *analysis.Row) *int64 { return r.Storage }),
		count("verify_steps", func(r *analysis.Row) *int64 { return r.VerifySteps }),
		count("drafted", func(r *analysis.Row) *int64 { return r.Drafted }),
		count("accepted", func(r *analysis.Row) *int64 { return r.Accepted }),
		count("rejected", func(r *analysis.Row) *int64 { return r.Rejected }),
		count("turn", func(r *analysis.Row) *int64 { return r.Turn }),
		{name: "data_row", per: 1, fine: 1, delta: true, of: func(r *analysis.Row, _ int64) int64 { return r.DatasetRow }},
	}
	texts := []*word{
		{name: "phase", of: func(r *analysis.Row) string { return r.Phase }},
		{name: "outcome", of: func(r *analysis.Row) string { return r.Outcome }},
		{name: "finish", words: words{most: mostMessages}, of: func(r *analysis.Row) string { return clip(r.Finish) }},
		{name: "cause", words: words{most: mostMessages}, of: func(r *analysis.Row) string { return clip(r.Cause) }},
		{name: "message", words: words{most: mostMessages}, of: func(r *analysis.Row) string { return clip(r.Message) }},
		{name: "session", words: words{most: mostSessions}, of: func(r *analysis.Row) string { return clip(r.Session) }},
		{name: "touch", of: func(r *analysis.Row) string { return r.Touch }},
		{name: "group", words: words{most: mostSessions}, of: func(r *analysis.Row) string { return clip(r.Group) }},
		{name: "cached_source", of: func(r *analysis.Row) string { return r.CachedSource }},
		{name: "flags", words: words{most: mostMessages}, of: func(r *analysis.Row) string { return clip(strings.Join(r.Flags, ", ")) }},
	}
	kinds := map[string]uint{}
	for i := range r.Windows {
		kinds[r.Windows[i].Kind] = uint(i)
	}
	n := r.Rows.Len()
	windows := make([]int64, n)
	for _, f := range fields {
		f.values = make([]int64, n)
		if n <= fineRows {
			f.per = f.fine
		}
	}
	for _, t := range texts {
		t.values = make([]int64, n)
	}
	lost := map[string]bool{}
	for i, row := range r.Rows.All() {
		for _, f := range fields {
			f.values[i] = f.of(&row, f.per)
		}
		for _, t := range texts {
			s := t.of(&row)
			t.values[i] = t.words.of(s)
			if t.name == "message" && s != "" && t.values[i] == absentValue && len(lost) < 1e6 {
				lost[s] = true
			}
		}
		for _, k := range row.Windows {
			if b := kinds[k]; b < 50 {
				windows[i] |= 1 << b
			}
		}
	}
	packed := map[string]*field{}
	for _, f := range fields {
		c := Column{Name: f.name, Per: f.per, Delta: f.delta}
		var base []int64
		if b := packed[f.base]; b != nil && b.per == f.per {
			c.Base, base = f.base, b.values
		}
		if p.add(c, f.values, base) {
			packed[f.name] = f
		}
	}
	for _, t := range texts {
		p.add(Column{Name: t.name, Per: 1, Words: t.words.list}, t.values, nil)
	}
	p.add(Column{Name: "windows", Per: 1}, windows, nil)
	return int64(len(lost))
}

// some is n, absent for 0.
func some(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// clip cuts a text that came from outside to what a row has room for.
func clip(s string) string {
	if len(s) <= messageChars {
		return s
	}
	n := 0
	for i := range s {
		if n == messageChars {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// packStalls packs the stalls beside the rows.
func packStalls(p *packer, stalls []analysis.Stall) {
	row, at, long := make([]int64, len(stalls)), make([]int64, len(stalls)), make([]int64, len(stalls))
	for i, s := range stalls {
		row[i], at[i], long[i] = int64(s.Row), scaled(&s.T, 10_000), scaled(&s.MS, 10)
	}
	p.add(Column{Name: "stall_row", Per: 1, Delta: true}, row, nil)
	p.add(Column{Name: "stall_t", Per: 10_000, Delta: true}, at, nil)
	p.add(Column{Name: "stall_ms", Per: 10}, long, nil)
}
