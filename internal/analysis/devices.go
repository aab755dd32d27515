package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
)

// devices, cost and energy of the spec, as the tape's header has them.
type devices struct {
	Total   int64 `json:"total"`
	Prefill int64 `json:"prefill"`
	Decode  int64 `json:"decode"`
}

type cost struct {
	PerDeviceHour float64 `json:"per_device_hour"`
	PerHour       float64 `json:"per_hour"`
	Currency      string  `json:"currency"`
}

type energy struct {
	Watts     float64 `json:"watts"`
	PowerFile string  `json:"power_file"`
}

// perHour is the price of the whole for an hour, and how it was made up; 0: none
// was given.
func (r *run) perHour() (price float64, how string) {
	c, d := r.spec.Cost, r.spec.Devices.Total
	unit := c.Currency
	if unit == "" {
		unit = "price"
	}
	switch {
	case c.PerHour > 0:
		return c.PerHour, fmt.Sprintf("%.10g an hour (%s)", c.PerHour, unit)
	case c.PerDeviceHour > 0 && d > 0:
		return c.PerDeviceHour * float64(d), fmt.Sprintf("%d devices × %.10g an hour (%s)", d, c.PerDeviceHour, unit)
	}
	return 0, ""
}

// economy fills the rows that divide the rates of a window, or that they divide:
// per device, cost, energy. It comes after the rates and their intervals.
func (r *run) economy(w window.Interval, out *Window, o Options) {
	r.perDevices(out)
	r.cost(&out.System)
	r.energy(w, out, o.Power)
}

// row sets one value and the interval that it inherits from a rate's, of which it
// is the image by f, which is monotone.
func (s *System) row(rows map[string]*float64, name, of string, v *float64, f func(float64) float64) {
	if v == nil {
		rows[name] = nil
		return
	}
	rows[name] = ref(f(*v))
	ci, ok := s.CI[of]
	if !ok || ci[0] == nil || ci[1] == nil {
		return
	}
	lo, hi := f(*ci[0]), f(*ci[1])
	if lo > hi {
		lo, hi = hi, lo
	}
	if hi < 1e300 { // an interval that reaches 0 has no quotient
		s.CI[name] = [2]*float64{&lo, &hi}
	}
}

// perDevices divides rates by the devices that the spec names; the divisor is in
// the row's name. What prefill devices do and what decode devices do are divided
// by those alone too.
func (r *run) perDevices(out *Window) {
	d, s := r.spec.Devices, &out.System
	if d.Total <= 0 {
		return
	}
	s.PerDevices = map[string]*float64{}
	per := func(name string, v *float64, n int64, kind string) {
		s.row(s.PerDevices, fmt.Sprintf("%s_per_%d_%sdevices", name, n, kind), name, v, func(x float64) float64 { return x / float64(n) })
	}
	nominal, observed := times(s.InputTokensPerS, out.Facts.NominalCachedRatio), times(s.InputTokensPerS, out.Facts.CachedRatio)
	cached := func(n int64, kind string) {
		if nominal != nil {
			per("nominal_cached_input_tokens_per_s", nominal, n, kind)
		}
		if observed != nil {
			per("observed_cached_input_tokens_per_s", observed, n, kind)
		}
	}
	per("requests_per_s", s.RequestsPerS, d.Total, "")
	per("output_tokens_per_s", s.OutputTokensPerS, d.Total, "")
	per("input_tokens_per_s", s.InputTokensPerS, d.Total, "")
	per("total_tokens_per_s", s.TotalTokensPerS, d.Total, "")
	cached(d.Total, "")
	if d.Prefill <= 0 || d.Decode <= 0 {
		return
	}
	per("requests_per_s", s.RequestsPerS, d.Prefill, "prefill_")
	per("input_tokens_per_s", s.InputTokensPerS, d.Prefill, "prefill_")
	cached(d.Prefill, "prefill_")
	per("requests_per_s", s.RequestsPerS, d.Decode, "decode_")
	per("output_tokens_per_s", s.OutputTokensPerS, d.Decode, "decode_")
}

func times(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return ref(*a * *b)
}

// nominalCached is Σ asked.cached ÷ Σ input over the requests of a cohort where
// both are known.
func (r *run) nominalCached(cohort []int) *float64 {
	var cached, input int64
	for _, i := range cohort {
		if q, expected := &r.reqs[i], r.facts[i].expected; expected != metric.Absent && q.Input != metric.Absent {
			cached, input = cached+expected, input+q.Input
		}
	}
	if input <= 0 {
		return nil
	}
	return ref(float64(cached) / float64(input))
}

// cost divides the price of an hour by what an hour makes.
func (r *run) cost(s *System) {
	price, _ := r.perHour()
	if price <= 0 {
		return
	}
	s.Cost = map[string]*float64{"cost_per_hour": &price}
	per := func(name, of string, rate *float64, many float64) {
		s.row(s.Cost, name, of, positive(rate), func(x float64) float64 { return price / (x * 3600) * many })
	}
	per("cost_per_million_output_tokens", "output_tokens_per_s", s.OutputTokensPerS, 1e6)
	per("cost_per_million_input_tokens", "input_tokens_per_s", s.InputTokensPerS, 1e6)
	per("cost_per_million_tokens", "total_tokens_per_s", s.TotalTokensPerS, 1e6)
	per("cost_per_request", "requests_per_s", s.RequestsPerS, 1)
}

// positive is v, absent unless it can divide.
func positive(v *float64) *float64 {
	if v == nil || *v <= 0 {
		return nil
	}
	return v
}

// energy is what the window took by the watts of the spec, or by a power series,
// and per token and request.
func (r *run) energy(w window.Interval, out *Window, p *Power) {
	s := &out.System
	span := float64(w.Length()) / 1e9
	if p == nil && r.spec.Energy.PowerFile != "" {
		out.Warnings = append(out.Warnings, "no energy: the power series of the spec is not beside the tape; tokentape report RUN --power FILE takes it")
		return
	}
	if span <= 0 || p == nil && r.spec.Energy.Watts <= 0 {
		return
	}
	watts := r.spec.Energy.Watts
	if p != nil {
		var err error
		if watts, err = r.meanPower(p, w); err != nil {
			out.Warnings = append(out.Warnings, "no energy: "+err.Error())
			return
		}
	}
	joules := watts * span
	s.Energy = map[string]*float64{"energy_j": &joules, "power_mean_w": &watts}
	per := func(name, of string, rate *float64) {
		s.row(s.Energy, name, of, positive(rate), func(x float64) float64 { return watts / x })
	}
	per("joules_per_output_token", "output_tokens_per_s", s.OutputTokensPerS)
	per("joules_per_token", "total_tokens_per_s", s.TotalTokensPerS)
	per("joules_per_request", "requests_per_s", s.RequestsPerS)
}
