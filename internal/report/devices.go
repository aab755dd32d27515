package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// economy are the names of the rows per device, of cost and of energy that some
// window has, in the order of their definitions.
func economy(ws []analysis.Window) []string {
	all := map[string]bool{}
	for i := range ws {
		for _, rows := range economyRows(&ws[i]) {
			for k := range rows {
				all[k] = true
			}
		}
	}
	defs := analysis.Definitions()
	rank := func(name string) int {
		return slices.IndexFunc(defs, func(d analysis.Definition) bool { return d.Kind == "system" && d.Is(name) })
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
}

func economyRows(w *analysis.Window) []map[string]*float64 {
	return []map[string]*float64{w.System.PerDevices, w.System.Cost, w.System.Energy}
}

// economyValue is the row of that name.
func economyValue(w *analysis.Window, name string) *float64 {
	for _, rows := range economyRows(w) {
		if v := rows[name]; v != nil {
			return v
		}
	}
	return nil
}

// atAGlance reports whether a row is on the page: of prefill devices what they
// take in, of decode devices what they put out, of cost and energy what people
// compare.
func atAGlance(name string) bool {
	switch {
	case strings.HasSuffix(name, "_prefill_devices"):
		return strings.HasPrefix(name, "input_")
	case strings.HasSuffix(name, "_decode_devices"):
		return strings.HasPrefix(name, "output_")
	case strings.HasSuffix(name, "_devices"):
		return true
	}
	switch name {
	case "cost_per_million_output_tokens", "cost_per_million_tokens", "joules_per_output_token", "power_mean_w":
		return true
	}
	return false
}

// deviceLabel is systemLabel without the words that a definition below repeats:
// output_tokens_per_s_per_16_devices is "output tok/s ÷ 16".
func deviceLabel(name string) string {
	rate, ok := strings.CutSuffix(name, "_devices")
	i := strings.LastIndex(rate, "_per_")
	if !ok || i < 0 {
		return systemLabel(name)
	}
	return systemLabel(rate[:i]) + " ÷ " + strings.ReplaceAll(rate[i+len("_per_"):], "_", " ")
}

// economyTerms explain what divides on the page, and what a price is.
func (c *console) economyTerms() (defs [][2]string) {
	a, names := c.r.About, economy(c.r.Windows)
	if a.Devices > 0 && slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, "_devices") }) {
		text := "for each of the " + count(a.Devices) + " devices"
		if a.Prefill > 0 && a.Decode > 0 {
			text += ", " + count(a.Prefill) + " of which prefill and " + count(a.Decode) + " decode"
		}
		defs = append(defs, [2]string{"÷ " + count(a.Devices), text})
	}
	if a.Price != "" {
		defs = append(defs, [2]string{"cost", clean(a.Price) + ", all of it on these tokens"})
	}
	return defs
}

// devices are the facts of what the rates are divided by.
func (c *console) devices() {
	a := c.r.About
	if a.Devices > 0 {
		text := count(a.Devices)
		if a.Prefill > 0 && a.Decode > 0 {
			text += ": " + count(a.Prefill) + " prefill, " + count(a.Decode) + " decode"
		}
		c.fact("devices", text)
	}
	if a.Price != "" {
		c.fact("price", clean(a.Price))
	}
}
