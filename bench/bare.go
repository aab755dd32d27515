package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tokentape/internal/clock"
)

// bare is the reference client: net/http, read, split into events, stamp into a slice,
// and nothing else. It decodes nothing, records nothing and checks nothing.
func bare(l load) (sent, error) {
	clk := clock.New()
	transport := &http.Transport{MaxIdleConnsPerHost: int(max(l.Concurrency, 4096)), DisableCompression: true}
	if l.Concurrency == 0 {
		transport.MaxConnsPerHost = mostConns()
	}
	if l.Lags {
		dialStamped(transport, clk)
	}
	all, lag := make([]stamps, l.Requests), make([]int64, l.Requests)
	bodies := make([]string, min(l.Requests, bodyRows))
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"model":"bench","stream":true,"max_tokens":%d,"ignore_eos":true,"messages":[{"role":"user","content":"%s"}]}`, l.Events, promptOf(l, int64(i)))
	}
	slots := make(chan struct{}, max(l.Concurrency, 1))
	idle, cpu := peakRSS(), processCPU()
	begin := clk.Now()
	var ok atomic.Int64
	var group sync.WaitGroup
	for i := range l.Requests {
		due := begin + l.offset(i)
		if l.Rate > 0 {
			_ = clk.SleepUntil(context.Background(), due)
		}
		if l.Concurrency > 0 {
			slots <- struct{}{}
		}
		group.Go(func() {
			if l.Concurrency > 0 {
				defer func() { <-slots }()
			}
			s := &all[i]
			s.ID = fmt.Sprint(i)
			req, _ := http.NewRequest("POST", l.URL, strings.NewReader(bodies[i%int64(len(bodies))]))
			req.Header.Set("X-Request-Id", s.ID)
			var late func() int64
			if l.Lags {
				req, late = traceLag(req, clk, due)
			}
			s.Released = clk.Machine(clk.Now())
			if resp, err := transport.RoundTrip(req); err == nil {
				if readEvents(resp, clk, s, l.Events) {
					ok.Add(1)
				}
				resp.Body.Close()
				if l.Lags {
					lag[i] = late()
				}
			}
		})
	}
	group.Wait()
	out := sent{OK: ok.Load(), Failed: l.Requests - ok.Load(), CPU: processCPU() - cpu, RSS: peakRSS(), RSSIdle: idle}
	if l.Lags {
		if l.Dues {
			for i, ns := range lag {
				out.Dues = append(out.Dues, dueLag{clk.Machine(begin + l.offset(int64(i))), ns})
			}
		}
		out.Lag = newLags(lag)
	}
	if l.Stamps != "" {
		return out, writeGob(l.Stamps, all)
	}
	return out, nil
}

// mostConns caps the reference's connections where nothing else does, by the limit of
// descriptors, which is the server's, too: requests beyond it wait for one, which is
// their lag. A quarter is left, since the server closes later than the client.
func mostConns() int {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // of this process: cannot fail
	return int(min(limit.Cur, 1<<20) / 4 * 3)
}

// readEvents stamps every event of a response; those after the last token are cut off.
func readEvents(resp *http.Response, clk *clock.Clock, s *stamps, events int) bool {
	s.Events = make([]int64, 0, events+3) // those after the last token, too
	buf, have := make([]byte, 4<<10), 0
	for {
		n, err := resp.Body.Read(buf[have:])
		t := clk.Machine(clk.Now())
		have += n
		at := 0
		for {
			end := bytes.Index(buf[at:have], []byte("\n\n"))
			if end < 0 {
				break
			}
			s.Events = append(s.Events, t)
			at += end + 2
		}
		if have = copy(buf, buf[at:have]); have == len(buf) {
			buf = append(buf, buf...) // one event fills it
		}
		if err != nil {
			whole := len(s.Events) > events // [DONE] and what else comes after the last token
			s.Events = s.Events[:min(len(s.Events), events)]
			return whole
		}
	}
}
