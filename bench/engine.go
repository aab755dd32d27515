package main

import (
	"cmp"
	"io"
	"os"
	"runtime/debug"
	"time"

	"tokentape/simserver"
)

// engine serves as the simulated server does, whose engine makes a token of every stream
// in the same step: what a batching server does, and a burst of reads for every client.
func engine(s serving, ready func(url string)) (out served, err error) {
	debug.SetGCPercent(800)
	o := simserver.Defaults()
	o.Slots, o.Keep, o.Cache, o.RoleChunk, o.Disaggregated = 1<<16, 1<<20, false, simserver.RoleNone, true
	o.PrefillFixed, o.PrefillPerToken = time.Millisecond, 0
	o.DecodeBase, o.DecodePerSeq = time.Duration(s.Gap), 0
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		return out, err
	}
	ready(srv.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is the sign
	all := srv.Trace()
	err = srv.Close()
	var truths []*simserver.Truth
	for i := range all {
		x := &all[i]
		out.Requests++
		if x.Aborted {
			out.Broken++
			continue
		}
		out.Complete++
		if out.First == 0 || x.Received < out.First {
			out.First = x.Received
		}
		out.Last = max(out.Last, x.End)
		truths = append(truths, x)
	}
	out.CPU = processCPU()
	if s.Truths != "" {
		return out, cmp.Or(err, writeTruths(s.Truths, truths))
	}
	return out, err
}
