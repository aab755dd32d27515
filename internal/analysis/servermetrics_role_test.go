package analysis

import (
	"testing"
)

func TestRoleInName(t *testing.T) {
	for name, want := range map[string]string{"prefill-0": "prefill", "decode1": "decode", "entry": "entry", "Prefill": "prefill", "decoder": "", "p0": "", "prefills": "", "": "", "node-0": ""} {
		if got := roleInName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Pages of a pair of which nobody knows which is which are added up, and that is said.
func TestCachedOfUnknownRoles(t *testing.T) {
	page := func(name string) ServerWindow {
		row := func(name string, v float64) ServerRow { return ServerRow{Name: name, Increase: &v} }
		return ServerWindow{Window: "whole", Source: name, Rows: []ServerRow{row("prompt_tokens", 100), row("cached_tokens", 50)}}
	}
	for _, c := range []struct {
		roles    [2]string
		prompt   float64
		roleless bool
	}{{[2]string{"", ""}, 200, true}, {[2]string{"prefill", "decode"}, 100, false}, {[2]string{"entry", ""}, 100, false}, {[2]string{"prefill", ""}, 200, true}, {[2]string{"prefill", "prefill"}, 200, false}} {
		s := &Server{Sources: []ServerSource{{Name: "a", Role: c.roles[0]}, {Name: "b", Role: c.roles[1]}}, Windows: []ServerWindow{page("a"), page("b")}}
		got, ok := s.Cached("whole")
		if !ok || got.Prompt != c.prompt || got.Roleless != c.roleless {
			t.Errorf("%q: %+v", c.roles, got)
		}
	}
}
