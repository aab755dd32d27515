package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"tokentape/internal/doctor"
)

// Names of the two clients that are always there.
const (
	nameOurs = "tokentape"
	nameBare = "bare"
)

// trial is one load sent by one client to a server of its own.
type trial struct {
	serve serving
	load  load
	env   []string // of the client
	// mayFail: requests that fail are counted, where else they make the trial an error.
	mayFail bool
	watch   bool // the machine's speed beside it
}

// result is what came of a trial.
type result struct {
	Client string       `json:"client"`
	Sent   sent         `json:"sent"`
	Served served       `json:"served"`
	Errors *stampErrors `json:"stamp_errors,omitempty"`
	// Speed is the machine's meanwhile. LagAtSpeed is that of the requests that were due
	// while it was not slow, AtSpeed their share of all.
	Speed      *doctor.Speed `json:"speed,omitempty"`
	LagAtSpeed *lags         `json:"lag_at_speed,omitempty"`
	AtSpeed    float64       `json:"at_speed,omitempty"`
}

// eventsPerSecond is the server's view, and so the same for every client: tokens written
// over the time from the first request to the last answer's end.
func (r result) eventsPerSecond(events int) float64 {
	return float64(r.Served.Complete) * float64(events) / (float64(r.Served.Last-r.Served.First) / 1e9)
}

// cpuPerEvent is the client's processor time a token event, in ns.
func (r result) cpuPerEvent(events int) float64 {
	return float64(r.Sent.CPU) / (float64(r.Sent.OK) * float64(events))
}

// run sends the load by the client of that name. With truths, the stamps of both sides
// are compared.
func (t trial) run(name string, truths bool) (r result, err error) {
	r.Client = name
	dir, err := os.MkdirTemp("", "tokentape-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if truths {
		t.serve.Truths, t.load.Stamps = filepath.Join(dir, "truths"), filepath.Join(dir, "stamps")
	}
	srv, err := startServer(t.serve)
	if err != nil {
		return r, err
	}
	t.load.URL = srv.url + "/v1/chat/completions"
	var as role
	switch name {
	case nameOurs:
		as.Ours = &t.load
	case nameBare:
		t.load.Verdict = false
		as.Bare = &t.load
	}
	askErr := ask(as, &r.Sent, t.env...)
	r.Served, err = srv.end()
	if err = cmp.Or(askErr, err); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if r.Sent.Failed > 0 && (!t.mayFail || r.Sent.OK == 0) {
		return r, fmt.Errorf("%s: %d of %d requests failed (%s); a measurement of failures is none", name, r.Sent.Failed, t.load.Requests, cmp.Or(r.Sent.Why, "the client does not say why"))
	}
	if !truths {
		return r, nil
	}
	r.Errors, err = compare(t.serve.Truths, t.load.Stamps)
	return r, err
}
