package spec

import (
	"fmt"
	"math"
	"strings"
	"unicode"
)

func (c *checker) devices() {
	d := c.s.Devices
	for _, f := range []struct {
		path  string
		value int64
	}{{"devices.prefill", d.Prefill}, {"devices.decode", d.Decode}, {"devices.total", d.Total}} {
		if f.value < 0 || f.value > maxCount {
			c.bad(f.path, "a number of devices", "%d is out of range", f.value)
			return
		}
	}
	sum := d.Prefill + d.Decode
	switch {
	case c.s.given("devices") && d == (Devices{}):
		c.bad("devices", "1 or more, or leave it out", "0 devices cannot divide a rate")
	case (d.Prefill == 0) != (d.Decode == 0):
		c.bad("devices", "give both {prefill, decode}, or one plain number", "only one of prefill and decode is given")
	case sum > 0 && d.Total != sum && !(d.Total == 0 && c.s.from == nil):
		c.bad("devices", fmt.Sprintf("leave total out; it is %d", sum), "total %d is not prefill %d + decode %d", d.Total, d.Prefill, d.Decode)
	}
}

// Bounds of prices and watts; beyond them is a mistake.
const (
	maxPrice = 1e12 // an hour
	maxWatts = 1e9
)

// economy checks prices and power.
func (c *checker) economy() {
	for _, f := range []struct {
		path, hint string
		value, max float64
	}{
		{"cost.per_device_hour", "a price above 0, or leave it out", c.s.Cost.PerDeviceHour, maxPrice},
		{"cost.per_hour", "a price above 0, or leave it out", c.s.Cost.PerHour, maxPrice},
		{"energy.watts", "watts above 0, or leave it out", c.s.Energy.Watts, maxWatts},
	} {
		switch given := c.s.given(f.path); {
		case math.IsNaN(f.value) || math.IsInf(f.value, 0):
			c.bad(f.path, f.hint, "%v is not a finite number", f.value)
		case f.value < 0 || f.value == 0 && given || f.value > f.max:
			c.bad(f.path, f.hint, "%v is out of range", f.value)
		}
	}
	if cur := c.s.Cost.Currency; len([]rune(cur)) > 16 || strings.IndexFunc(cur, func(r rune) bool { return !unicode.IsGraphic(r) }) >= 0 {
		c.bad("cost.currency", "a short name, such as USD", "%q cannot be shown beside a price", clip(cur))
	}
}

// economyEffect names what prices and power leave without effect.
func (s *Spec) economyEffect(idle func(when bool, path, why, mend string)) {
	idle(s.Cost.PerHour > 0, "cost.per_device_hour", "cost.per_hour is the price of the whole", "keep one of the two")
	idle(s.Devices.Total == 0, "cost.per_device_hour", "no devices are given", "devices: 16, or cost.per_hour")
	idle(s.Cost.PerHour == 0 && s.Cost.PerDeviceHour == 0, "cost.currency", "no price is given", "give cost.per_hour or cost.per_device_hour, or remove it")
	idle(s.Energy.PowerFile != "", "energy.watts", "energy.power_file is measured", "keep one of the two")
}
