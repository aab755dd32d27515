package tape

import "testing"

func TestEnvelope(t *testing.T) {
	e := &Envelope{Points: []EnvelopePoint{
		{Streams: 2000, Rate: 10, Events: 20000, Held: true},
		{Streams: 4000, Rate: 10, Events: 39000},
		{Streams: 100, Rate: 100, Events: 10000, Held: true},
		{Streams: 300, Rate: 100, Events: 30000, Held: true},
	}}
	for _, tc := range []struct {
		streams int64
		events  float64
		ok      bool
	}{{1, 30000, true}, {300, 30000, true}, {301, 20000, true}, {2000, 20000, true}, {2001, 0, false}} {
		if got, ok := e.Room(tc.streams); got != tc.events || ok != tc.ok {
			t.Errorf("%d streams: %g, %t", tc.streams, got, ok)
		}
	}
	if s, ev := e.Most(); s != 2000 || ev != 30000 {
		t.Error(s, ev)
	}
	if s, ev := new(Envelope).Most(); s != 0 || ev != 0 {
		t.Error(s, ev)
	}
}
