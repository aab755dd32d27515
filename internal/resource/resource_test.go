package resource

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var machine = Machine{Soft: 1024, Hard: 1024, Shell: 1024, Open: 6, Ports: 28232, TimeWait: time.Minute, Memory: 4 << 30, Available: 3 << 30}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name   string
		need   Need
		edit   func(*Machine)
		refuse string // part of the message; "" for none
		hint   string
		note   string // "" for none
	}{
		{name: "small", need: Need{InFlight: 90, Servers: 1, Body: 70_000, Output: 256}},
		{name: "as many as fit", need: Need{InFlight: 1024 - 6 - spare, Servers: 1}},
		{name: "one more", need: Need{InFlight: 1024 - 6 - spare + 1, Servers: 1},
			refuse: "955 requests in flight need 1025 file descriptors (6 open now, 64 spare), and the limit is 1024", hint: "lower load.concurrency to 954"},
		{name: "raised", need: Need{InFlight: 300, Servers: 1}, edit: func(m *Machine) { m.Soft, m.Hard, m.Shell = 20000, 20000, 256 },
			note: "raised from 256 to 20000 for this process (370 are needed)"},
		{name: "streams share connections", need: Need{InFlight: 5000, Shared: true, Servers: 1}},
		{name: "no cap", need: Need{Rate: 5, Servers: 1}, note: "954 requests in flight is where file descriptors end"},
		{name: "no cap, few requests", need: Need{Rate: 5, All: 900, Servers: 1}},
		{name: "ports", need: Need{InFlight: 300, Servers: 1}, edit: func(m *Machine) { m.Ports = 101 },
			refuse: "300 connections to 1 address(es) need as many local ports, and net.ipv4.ip_local_port_range has 101", hint: "lower load.concurrency to 101"},
		{name: "ports of several addresses", need: Need{InFlight: 300, Servers: 3}, edit: func(m *Machine) { m.Ports = 101 }},
		{name: "unix sockets need none", need: Need{InFlight: 300}, edit: func(m *Machine) { m.Ports = 101 }},
		{name: "churn by renewal", need: Need{InFlight: 300, Servers: 1, Rate: 1000, RenewAfter: 1}, note: "about 1e+03 new connections a second"},
		{name: "little churn", need: Need{InFlight: 300, Servers: 1, Rate: 1000, RenewAfter: 100}},
		{name: "churn by age", need: Need{InFlight: 9, Servers: 1, Rate: 2, Idle: 400 * time.Millisecond}, edit: func(m *Machine) { m.Ports = 101 }, note: "TIME_WAIT"},
		{name: "kept alive", need: Need{InFlight: 9, Servers: 1, Rate: 2, Idle: 4 * time.Second}, edit: func(m *Machine) { m.Ports = 101 }},
		{name: "TIME_WAIT of others", need: Need{InFlight: 9, Servers: 1}, edit: func(m *Machine) { m.Waiting = 20000 }, note: "20000 TCP connections"},
		{name: "memory", need: Need{InFlight: 900, Servers: 1, Body: 4 << 20}, refuse: "900 requests in flight need about 7308 MiB of memory, and there are 4096 MiB", hint: "more memory"},
		{name: "memory in use", need: Need{InFlight: 900, Servers: 1, Body: 1 << 20, Output: 4096}, edit: func(m *Machine) { m.Available = 1 << 30 }, note: "1024 MiB are free now"},
		{name: "nothing known", need: Need{InFlight: 1e6, Servers: 1}, edit: func(m *Machine) { *m = Machine{} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := machine
			if tc.edit != nil {
				tc.edit(&m)
			}
			notes, err := Check(tc.need, m)
			said := strings.Join(notes, "\n")
			if (tc.note == "") != (said == "") || !strings.Contains(said, tc.note) {
				t.Errorf("notes %q, want %q", said, tc.note)
			}
			var r *Refusal
			if errors.As(err, &r) != (tc.refuse != "") {
				t.Fatalf("%v, want %q", err, tc.refuse)
			}
			if r != nil && (!strings.Contains(r.Error(), tc.refuse) || !strings.Contains(strings.Join(r.Hint, " "), tc.hint) || len(r.Hint) != len(r.Why)) {
				t.Errorf("%v, hints %q; want %q, %q", r, r.Hint, tc.refuse, tc.hint)
			}
		})
	}
}

func TestHere(t *testing.T) {
	m := Here()
	if m.Soft <= 0 || m.Soft > m.Hard || m.Open < 3 || m.Open > m.Soft || m.Ports < 1 || m.Memory < 64<<20 || m.Available <= 0 || m.Available > m.Memory {
		t.Errorf("%+v", m)
	}
}
