package main

import "fmt"

// stampErrors are a client's stamps less the truth, in ms. The truth of an event is the
// moment right before the server's write, so that the server's system call counts as the
// client's error; that of TTFT and E2E counts from the moment at which the server had read
// the request, so that sending it, and connecting, counts too.
type stampErrors struct {
	Events   int     `json:"events"` // compared
	EventP50 float64 `json:"event_p50_ms"`
	EventP99 float64 `json:"event_p99_ms"`
	EventMax float64 `json:"event_max_ms"`
	TTFTP50  float64 `json:"ttft_p50_ms"`
	TTFTP99  float64 `json:"ttft_p99_ms"`
	E2EP50   float64 `json:"e2e_p50_ms"`
	E2EP99   float64 `json:"e2e_p99_ms"`
}

// compare holds the stamps of a client against the truths of its server. It fails where
// they do not tell of the same events.
func compare(truths, seen string) (*stampErrors, error) {
	truth, err := readTruths(truths)
	if err != nil {
		return nil, err
	}
	var all []stamps
	if err := readGob(seen, &all); err != nil {
		return nil, err
	}
	var event, ttft, e2e []int64
	for _, s := range all {
		x := truth[s.ID]
		if x == nil || len(s.Events) == 0 || len(s.Events) != len(x.WriteStart) {
			return nil, fmt.Errorf("request %q: the client saw %d token events, and the server's truth is %+v", s.ID, len(s.Events), x)
		}
		for i, t := range s.Events {
			event = append(event, t-x.WriteStart[i])
		}
		last := len(s.Events) - 1
		ttft = append(ttft, distance(s.Events[0]-s.Released, x.WriteStart[0]-x.Received))
		e2e = append(e2e, distance(s.Events[last]-s.Released, x.WriteStart[last]-x.Received))
	}
	if len(all) != len(truth) {
		return nil, fmt.Errorf("the client knows of %d requests, the server of %d", len(all), len(truth))
	}
	ms := func(ns []int64, q float64) float64 { return float64(quantile(ns, q)) / 1e6 }
	return &stampErrors{
		Events: len(event), EventP50: ms(event, 0.5), EventP99: ms(event, 0.99), EventMax: ms(event, 1),
		TTFTP50: ms(ttft, 0.5), TTFTP99: ms(ttft, 0.99), E2EP50: ms(e2e, 0.5), E2EP99: ms(e2e, 0.99),
	}, nil
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
