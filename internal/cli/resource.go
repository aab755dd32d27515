package cli

import (
	"errors"
	"net/url"
	"strings"

	"tokentape/internal/resource"
)

// need is what the plan needs of this machine.
func (j *job) need() resource.Need {
	s := j.spec
	n := resource.Need{
		InFlight: s.Load.Concurrency, Shared: s.Target.HTTP == "2", Output: s.Workload.OutputTokens,
		Rate: s.Load.Rate, RenewAfter: s.Target.RenewAfter, Idle: s.Limits.KeepAlive.D(),
	}
	if n.InFlight == 0 {
		n.InFlight = s.Load.SessionConcurrency // each has one request in flight at most
	}
	if n.InFlight > 0 && s.Prepare.Sends() {
		n.InFlight = max(n.InFlight, s.Prepare.Concurrency)
	}
	for _, st := range s.Load.Stages {
		n.Rate = max(n.Rate, st.Rate)
	}
	if s.Load.Tail == "none" {
		n.All = j.plan.Rows()
	}
	if n.All > 0 {
		n.InFlight = min(n.InFlight, n.All) // no more can be in flight than there are
	}
	n.Body = j.source.MeanBytes()
	for _, raw := range j.urls() {
		if u, err := url.Parse(raw); err == nil && u.Scheme != "unix" {
			n.Servers++
		}
	}
	if j.net.cfg.Proxy != nil {
		n.Servers = min(n.Servers, 1)
	}
	if s.Target.Spread {
		for _, line := range j.net.addresses {
			n.Servers += int64(strings.Count(line, ", "))
		}
	}
	return n
}

// resources compares what the plan needs with what this machine has. What is
// short is a refusal, or a note of the run.
func (j *job) resources(m resource.Machine) error {
	notes, err := resource.Check(j.need(), m)
	j.notes = append(j.notes, notes...)
	var r *resource.Refusal
	if errors.As(err, &r) {
		return usageError(r.Error(), r.Hint...)
	}
	return err
}
