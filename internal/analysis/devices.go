package analysis

import "fmt"

// perDevices divides the rates of a window by the devices that the spec names;
// the divisor is in the row's name.
func (r *run) perDevices(s *System) {
	d := r.spec.Devices.Total
	if d <= 0 {
		return
	}
	s.PerDevices = map[string]*float64{}
	per := func(name string, v *float64) {
		if v != nil {
			v = ref(*v / float64(d))
		}
		s.PerDevices[fmt.Sprintf("%s_per_%d_devices", name, d)] = v
	}
	per("requests_per_s", s.RequestsPerS)
	per("output_tokens_per_s", s.OutputTokensPerS)
	per("input_tokens_per_s", s.InputTokensPerS)
	per("total_tokens_per_s", s.TotalTokensPerS)
}
