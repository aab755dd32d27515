package main

// load is what a client is asked to send. Both clients send the same.
type load struct {
	URL         string  `json:"url"`
	Requests    int64   `json:"requests"`
	Concurrency int64   `json:"concurrency,omitempty"` // 0: no cap
	Rate        float64 `json:"rate,omitempty"`        // requests/s at constant distance; 0: closed loop
	Events      int     `json:"events"`                // of each answer: what max_tokens asks for
	Prompt      int     `json:"prompt,omitempty"`      // bytes of each prompt; 0: a short question
	Shared      bool    `json:"shared,omitempty"`      // the prompts' first nine tenths are the same
	Lags        bool    `json:"lags,omitempty"`        // report pacer lag
	Dues        bool    `json:"dues,omitempty"`        // and the due time and lag of each request
	Stamps      string  `json:"stamps,omitempty"`      // file of the stamps, written in the end; "": none
	Profile     string  `json:"profile,omitempty"`     // file of a CPU profile of the load; "": none
	Verdict     bool    `json:"verdict,omitempty"`     // analyse the own tape and say what client_bound is
}

// offset is how long after the first request request i is due, in ns.
func (l load) offset(i int64) int64 {
	if l.Rate == 0 {
		return 0
	}
	return int64(float64(i) / l.Rate * 1e9)
}

// sent is what a client says when it has ended. Times are ns.
type sent struct {
	OK      int64 `json:"ok"` // answers read to their end
	Failed  int64 `json:"failed"`
	CPU     int64 `json:"cpu"`      // processor time from before the first request until everything was on disk
	RSS     int64 `json:"rss"`      // most memory resident, bytes
	RSSIdle int64 `json:"rss_idle"` // and right before the load
	// Lag is due to first byte written.
	Lag        *lags    `json:"lag,omitempty"`
	Dues       []dueLag `json:"dues,omitempty"`
	PacerCores float64  `json:"pacer_cores,omitempty"` // what waiting for due times took; 0: not observed
	Tape       int64    `json:"tape,omitempty"`        // bytes
	Verdict    string   `json:"verdict,omitempty"`     // result of client_bound: pass, miss, not_observed
	Why        string   `json:"why,omitempty"`
	// ClientWait is its p99 in ms, by the kernel's stamps; nil: not observed.
	ClientWait *float64 `json:"client_wait_p99_ms,omitempty"`
}

// lags are quantiles of the time from due to the first byte written, in ns.
type lags struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func newLags(ns []int64) *lags {
	if len(ns) == 0 {
		return nil
	}
	return &lags{quantile(ns, 0.5), quantile(ns, 0.99), quantile(ns, 1)}
}
