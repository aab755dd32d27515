package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/tape"
)

// A look that is quick, or beside other work, leaves a full and quiet one of the same week
// and version alone, and nothing else does.
func TestWins(t *testing.T) {
	quiet, busy, unseen := tape.Some(0.5), tape.Some(0.6), tape.Opt[float64]{} // of 2 processors
	look := func(kind string, other tape.Opt[float64], at, tool string) *Kept {
		return &Kept{Tool: tool, Host: Facts{CPUs: 2}, Look: kind, Busy: other, Envelope: tape.Envelope{Measured: at}}
	}
	const then, now = "2026-11-23T10:00:00Z", "2026-11-30T10:00:00Z"
	sound := look(LookFull, quiet, then, "1")
	for name, tc := range map[string]struct {
		k, before *Kept
		want      bool
	}{
		"nothing was kept":              {look(LookQuick, busy, now, "1"), nil, true},
		"quick":                         {look(LookQuick, quiet, now, "1"), sound, false},
		"busy":                          {look(LookFull, busy, now, "1"), sound, false},
		"as good":                       {look(LookFull, quiet, now, "1"), sound, true},
		"full, load unknown":            {look(LookFull, unseen, now, "1"), sound, true},
		"quick after load unknown":      {look(LookQuick, unseen, now, "1"), look(LookFull, unseen, then, "1"), false},
		"quick after quick":             {look(LookQuick, quiet, now, "1"), look(LookQuick, quiet, then, "1"), true},
		"quick after busy":              {look(LookQuick, busy, now, "1"), look(LookFull, busy, then, "1"), true},
		"quick after one of old":        {look(LookQuick, busy, now, "1"), look("", unseen, then, "1"), true},
		"more than a week":              {look(LookQuick, quiet, "2026-11-30T10:00:01Z", "1"), sound, true},
		"another version":               {look(LookQuick, quiet, now, "2"), sound, true},
		"of a time that is yet to come": {look(LookQuick, quiet, "2026-11-23T09:59:59Z", "1"), sound, true},
		"of no time":                    {look(LookQuick, quiet, now, "1"), look(LookFull, quiet, "", "1"), true},
	} {
		if got := tc.k.Wins(tc.before); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What an older doctor kept is read, and says what it does not know.
func TestKnownOfOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "envelope.json")
	const old = `{"schema":"tokentape.envelope/1","tool":"0.1.0","host":{"name":"h","arch":"","kernel":"","cpu_model":"","logical":0,"cpus":2,"memory":0,"clock_source":""},
		"envelope":{"measured":"2026-11-30T16:34:34Z","limit_ns":1000000,"points":[{"streams":3,"tokens_per_s":5,"events_per_s":15,"error_p99_ns":9,"held":true}]}}`
	if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := Known(path, Facts{Name: "h", CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if i := Envelope(k, false, ""); i.Verdict != OK || !strings.Contains(i.Value, "2026-11-30T16:34:34Z, full or quick was not recorded") {
		t.Errorf("%+v", i)
	}
	if i := Carry(Planned{Streams: 2, Events: 9}, k, fine().Machine)[1]; i.Verdict != OK || i.Limit != "15 tokens/s with 2 streams" || !strings.Contains(i.Value, "by the envelope of 2026-11-30T16:34:34Z") {
		t.Errorf("%+v", i)
	}
}

// A limit says each number once.
func TestBeyond(t *testing.T) {
	e := &tape.Envelope{Points: []tape.EnvelopePoint{{Streams: 500, Events: 10000, Held: true}, {Streams: 200, Events: 20000, Held: true}}}
	for _, tc := range []struct {
		n    int64
		want string
	}{{0, "20000 tokens/s"}, {100, "20000 tokens/s with 100 streams"}, {300, "10000 tokens/s with 300 streams, 20000 tokens/s with fewer"}, {501, "500 streams"}} {
		if _, got := Beyond(e, tc.n, 1); got != tc.want {
			t.Errorf("%d: %q, want %q", tc.n, got, tc.want)
		}
	}
}
