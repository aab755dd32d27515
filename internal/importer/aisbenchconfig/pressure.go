package aisbenchconfig

import "time"

// pressure writes AISBench's pressure test: a closed loop whose slots open one after
// the other, request_rate of them a second or one every 5 ms, and which goes through
// the rows again and again until the time is over. Requests in flight then end as
// they would.
func (j *job) pressure(m *model, rows *rowsOf, rate float64, warm int64) {
	c, s := j.c, &j.sheet
	if m.timestamps {
		c.refuse(m.timesField.At, "leave out --pressure, or use_timestamp", "use_timestamp together with --pressure, which AISBench refuses too")
		return
	}
	j.concurrency(m, rows, 0, false)
	const most = 24 * time.Hour
	apart, note := 5*time.Millisecond, "AISBench's --pressure adds a client every 5 ms"
	if rate >= leastRate {
		apart, note = most, c.from(m.rateField)+": with --pressure clients added per second"
		if d := float64(time.Second) / rate; d < float64(most) {
			apart = time.Duration(d)
		}
	}
	if m.batch > 1 { // one client has nobody to keep apart from
		s.set("load.stagger", apart, note)
	}
	s.set("load.duration", time.Duration(c.o.Pressure)*time.Second, "AISBench's --pressure-time")
	s.set("workload.repeat", "cycle", "--pressure goes through the rows again and again")
	if m.traffic != nil {
		c.warn(m.traffic.At, "traffic_cfg", "has no meaning with --pressure")
	}
	if warm > 0 {
		s.set("load.warmup", warm, "AISBench's --num-warmups; within the time of load.duration")
	}
	if rows.shuffle != "" {
		s.set("workload.order", "shuffle", rows.shuffle)
	}
	j.retry(m)
}
