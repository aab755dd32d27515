package analysis

import (
	"strings"
	"testing"

	"tokentape/tape"
)

// Late sends are evidence about the schedule, client wait is about the stamps: where
// bytes were read in time, sends must be grossly late.
func TestLateSendsBesideClientWait(t *testing.T) {
	const slow, quick = 100 * msec, 2 * msec // between two sends
	short, middling, long := many(200, msec/5), many(200, 3*msec/2), many(200, 8*msec)
	for _, c := range []struct {
		name      string
		gap       int64
		late      int64 // of 20 sends of 900
		reads     []int64
		result    string
		why       string
		limit     float64
		sendDelay string
	}{
		{"on time", quick, 0, short, ResultPass, "pacer lag p99 0 ms (limit 1 ms); client wait p99 0.2 ms (limit 2 ms)", 1, ResultPass},
		{"late, nothing known of the stamps", quick, 3 * msec, nil, ResultMiss, "pacer lag p99 3 ms (limit 1 ms)", 1, ResultPass},
		{"late, too few reads", quick, 3 * msec, short[:99], ResultMiss, "pacer lag p99 3 ms (limit 1 ms)", 1, ResultPass},
		{"late, wait within its limit and not short", quick, 3 * msec, middling, ResultMiss, "pacer lag p99 3 ms (limit 1 ms)", 1, ResultPass},
		{"late, read in time", quick, 3 * msec, short, ResultPass,
			"pacer lag p99 3 ms is over 1 ms: sends were late, but what came was read in time: client wait p99 0.2 ms (limit 2 ms)", 5, ResultMiss},
		{"grossly late, read in time", quick, 7 * msec, short, ResultMiss, "pacer lag p99 7 ms (limit 5 ms, where bytes are read in time)", 5, ResultPass},
		{"late, read late", quick, 3 * msec, long, ResultMiss, "pacer lag p99 3 ms (limit 1 ms); client wait p99 8 ms (limit 2 ms)", 1, ResultPass},
		{"on time, read late", quick, 0, long, ResultMiss, "client wait p99 8 ms (limit 2 ms)", 1, ResultPass},
		{"by less than the mean gap", slow, 40 * msec, short, ResultPass,
			"pacer lag p99 40 ms is over 10 ms, 10 % of the mean gap between sends: sends were late, but what came was read in time: client wait p99 0.2 ms (limit 2 ms)", 100, ResultMiss},
		{"by more than the mean gap", slow, 150 * msec, short, ResultMiss, "pacer lag p99 150 ms (limit 100 ms, the mean gap between sends, where bytes are read in time)", 100, ResultPass},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openRun(900, c.gap)
			s.late(100, 120, c.late)
			s.more = append(s.more, waited(c.reads...))
			res := s.analyse(t, Options{})
			k := check(t, res, "client_bound")
			if why, _, _ := strings.Cut(k.Why, "; scheduling"); k.Result != c.result || cutCPU(why) != c.why || *k.Limit != c.limit || (*k.Value > *k.Limit) != (c.result == ResultMiss && strings.Contains(c.why, "pacer lag")) {
				t.Errorf("value %g, limit %g: %+v", *k.Value, *k.Limit, k)
			}
			d := check(t, res, "send_delay")
			if d.Result != c.sendDelay {
				t.Errorf("%+v", d)
			}
			if d.Result == ResultMiss && (d.Severity != SeverityNote || *d.Value != *k.Value || *d.Limit >= *d.Value || !strings.HasPrefix(d.Why, "sends were late, by pacer lag p99 ") || !strings.Contains(d.Do, "from due")) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// cutCPU leaves the client's CPU out of a reason.
func cutCPU(why string) string {
	before, after, ok := strings.Cut(why, "client CPU")
	if !ok {
		return why
	}
	_, after, _ = strings.Cut(after, "; ")
	return strings.TrimSuffix(before+after, "; ")
}

// One gross send is as little of a pattern as one late one; that CPU or the recorder
// made the numbers is no matter of when bytes were read.
func TestReadInTimeExcusesOnlyLateSends(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*script)
		result string
		why    string
	}{
		"one gross send among late ones": {func(s *script) { s.late(20, 21, 200*msec); s.late(21, 24, 30*msec) }, ResultPass, "sends were late, but what came was read in time"},
		"two gross sends":                {func(s *script) { s.late(20, 22, 200*msec) }, ResultMiss, "(limit 100 ms, the mean gap"},
		"one late send":                  {func(s *script) { s.late(20, 21, 40*msec) }, ResultPass, "(limit 10 ms, 10 % of the mean gap between sends): 1 late send of 50, not counted"},
		"CPU":                            {func(s *script) { s.late(20, 24, 30*msec); s.more = append(s.more, &tape.ClientSample{T: 1, CPU: 3.9}) }, ResultMiss, "client CPU 3.90 of 4 cores"},
		"recorder":                       {func(s *script) { s.late(20, 24, 30*msec); s.reason = tape.ReasonRecorder }, ResultMiss, "the recorder could not keep up"},
	} {
		t.Run(name, func(t *testing.T) {
			s := steadyRun(50)
			c.edit(s)
			w := waited(many(200, msec/5)...)
			w.T, w.CPU = 2, 3.9 // as the other sample, whose mean counts
			if len(s.more) == 0 {
				w.CPU = 0
			}
			s.more = append(s.more, w)
			if k := check(t, s.analyse(t, Options{}), "client_bound"); k.Result != c.result || !strings.Contains(k.Why, c.why) {
				t.Errorf("%+v", k)
			}
		})
	}
}

// In a closed loop late sends are lost throughput, however well bytes were read.
func TestReadInTimeExcusesNoClosedLoop(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, plan: 100, spec: `{"load":{"requests":100,"concurrency":1}}`, more: []tape.Record{waited(many(200, msec/5)...)}}
	const busy, lag = 10 * msec, 40 * msec // of each cycle
	for i := range int64(100) {
		q := ok(i, i*(busy+lag), every(5, busy/10, busy/10)...)
		q.TReady = tape.Some(q.TReleased.V)
		s.reqs = append(s.reqs, q)
	}
	s.late(0, 100, lag)
	if k := check(t, s.analyse(t, Options{}), "client_bound"); k.Result != ResultMiss || !strings.Contains(k.Why, "pacer lag p99 after the start 40 ms") {
		t.Errorf("%+v", k)
	}
}

// Each run of a merged tape has a client of its own.
func TestReadInTimeOfParts(t *testing.T) {
	of := func(part, reads, ns int64) tape.ClientSample {
		s := *waited(many(int(reads), ns)...)
		s.Part = tape.Some(part)
		return s
	}
	good := of(0, 200, msec/5)
	for name, c := range map[string]struct {
		second tape.ClientSample
		want   bool
	}{
		"both":           {of(1, 200, msec/5), true},
		"one not at all": {tape.ClientSample{Part: tape.Some[int64](1)}, false},
		"one too little": {of(1, 99, msec/5), false},
		"one late":       {of(1, 200, 3*msec/2), false},
		"of 1 ms":        {of(1, 200, msec), true},
		"just over":      {of(1, 200, tape.WaitEdge(tape.WaitBucket(msec))+1), false},
	} {
		r := &run{header: &tape.Header{Merged: &tape.Merged{Parts: make([]tape.Part, 2)}}, samples: []tape.ClientSample{good, c.second}}
		if got := r.readInTime(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Where each send is one of the start the check says that it judges no lag, and still
// passes by the client's samples alone.
func TestAllSendsAreTheStart(t *testing.T) {
	const unjudged = "pacer lag is not judged: all measured sends (4) are of the start, due at once"
	for name, c := range map[string]struct {
		more   []tape.Record
		result string
		want   string
	}{
		"no samples": {nil, ResultNone, unjudged + "; no client samples on the tape"},
		"samples":    {[]tape.Record{&tape.ClientSample{T: 1, CPU: 0.5}}, ResultPass, "; " + unjudged},
		"evidence":   {[]tape.Record{&tape.ClientSample{T: 1, CPU: 3.9}}, ResultMiss, "client CPU 3.90 of 4 cores (limit 3.60)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{reason: tape.ReasonCompleted, spec: `{"load":{"requests":4,"concurrency":4}}`, more: c.more}
			for i := range int64(4) {
				s.reqs = append(s.reqs, ok(0, (5+i)*msec, 9*msec))
			}
			k := check(t, s.analyse(t, Options{}), "client_bound")
			if k.Result != c.result || !strings.HasSuffix(k.Why, c.want) || k.Value != nil {
				t.Errorf("%+v", k)
			}
		})
	}
}

// Other work is what was busy beside tokentape, and then its end is what helps.
func TestOtherWorkIsBesideTokentape(t *testing.T) {
	s := openRun(900, 10*msec)
	s.late(100, 120, 30*msec)
	s.more = append(s.more, &tape.ClientSample{T: 1, CPU: 0.25, HostBusy: tape.Some(3.5)})
	k := check(t, s.analyse(t, Options{}), "client_bound")
	if k.Result != ResultMiss || !strings.HasSuffix(k.Why, OtherWork+": 3.25 cores, beside tokentape's 0.25 (it may use 4)") || !strings.HasPrefix(k.Do, "end what else runs") {
		t.Errorf("%+v", k)
	}
	s.more = []tape.Record{&tape.ClientSample{T: 1, CPU: 0.25, HostBusy: tape.Some(0.5)}}
	if k := check(t, s.analyse(t, Options{}), "client_bound"); strings.Contains(k.Why, OtherWork) || !strings.HasPrefix(k.Do, "use a faster") {
		t.Errorf("%+v", k)
	}
}

// That the client read late is a matter of streams, that it sent late one of requests.
func TestWhyStagesOfClientBound(t *testing.T) {
	long := waited(many(200, 8*msec)...)
	for name, c := range map[string]struct {
		late   int64
		more   []tape.Record
		stages string
	}{
		"sent late": {30 * msec, nil, "request"},
		"read late": {0, []tape.Record{long}, "stream"},
		"both":      {30 * msec, []tape.Record{long}, "request stream"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openRun(900, 10*msec)
			s.late(100, 120, c.late)
			for _, q := range s.reqs[:3] {
				q.Flags = []string{"buffered"}
			}
			s.more = c.more
			w, err := Why(&records{recs: s.records()}, Whereabouts{Run: "x"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var bad []string
			for _, st := range w.Stages {
				if st.State == StageBad {
					bad = append(bad, st.Name)
				}
			}
			first, _, _ := strings.Cut(c.stages, " ")
			if strings.Join(bad, " ") != c.stages || w.Stage != first {
				t.Errorf("stages %v, stage %s", bad, w.Stage)
			}
			if notes := strings.Join(w.Notes, "\n"); !strings.Contains(notes, "3 answers flagged buffered") {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}
