package sim

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrClosed is returned by Stream.Next after the engine was closed.
var ErrClosed = errors.New("simulated engine closed")

// Request is one thing to generate.
type Request struct {
	Prompt    Prompt
	MaxTokens int64  // ≥ 1
	MinTokens int64  // of a drawn length
	IgnoreEOS bool   // exactly MaxTokens
	Seed      uint64 // mixed into the draws of this request
	// AcceptRate, when above 0, takes the place of Config.AcceptRate.
	AcceptRate float64
}

// Event is output that came at once: N tokens at time T (ns of the engine's
// clock, the scheduled end of the step that made them).
type Event struct {
	T int64
	N int32
}

// Stream is one request in the engine. The engine never waits for its reader.
type Stream struct {
	Arrival int64 // ns of the engine's clock
	Len     int64 // output tokens it will have
	Length  bool  // it ends because of MaxTokens ("length"), not of EOS ("stop")

	req       Request
	seed      uint64
	cancelled atomic.Bool
	notify    chan struct{}

	mu          sync.Mutex
	pending     []Event
	ended       bool
	closed      bool
	admitted    int64 // -1: not yet
	prefillDone int64
	cached      int64
	tiers       [tierCount]int64 // of cached
	drafted     int64            // tokens proposed, and how many of them were accepted
	accepted    int64
	accepting   []int64 // verify steps by accepted tokens

	// The engine's own, under its lock.
	rest int64 // prompt tokens still to prefill
	done int64 // output tokens made
	last int64 // time of the event before
}

// Next appends the events that have happened since the last call to dst, waiting
// for at least one. After the last event it returns io.EOF; when ctx ends, its
// cause; ErrClosed when the engine was closed.
func (s *Stream) Next(ctx context.Context, dst []Event) ([]Event, error) {
	for {
		s.mu.Lock()
		if len(s.pending) > 0 {
			dst = append(dst, s.pending...)
			s.pending = s.pending[:0]
			s.mu.Unlock()
			return dst, nil
		}
		ended, closed := s.ended, s.closed
		s.mu.Unlock()
		if ended {
			return dst, io.EOF
		}
		if closed {
			return dst, ErrClosed
		}
		select {
		case <-s.notify:
		case <-ctx.Done():
			return dst, context.Cause(ctx)
		}
	}
}

// Cancel lets the engine forget the request at its next step.
func (s *Stream) Cancel() { s.cancelled.Store(true) }

// Facts are what the engine did for a request so far. Times are ns of the
// engine's clock, -1 where it has not happened.
type Facts struct {
	Admitted, PrefillDone int64
	Cached                int64    // prompt tokens taken from the prefix cache
	Tiers                 [3]int64 // of these, in order: from the device, the host and storage
	Drafted, Accepted     int64    // speculation
	// Accepting counts verify steps by the drafted tokens that they accepted: entry j
	// those that accepted exactly j.
	Accepting []int64
}

// Facts may be called at any time.
func (s *Stream) Facts() Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Facts{s.admitted, s.prefillDone, s.cached, s.tiers, s.drafted, s.accepted, slices.Clone(s.accepting)}
}

// AppendTokens appends the text of output tokens from, from+1 … from+n-1.
func (s *Stream) AppendTokens(dst []byte, from, n int64) []byte {
	for i := from; i < from+n; i++ {
		dst = append(dst, outputToken(s.seed, i).text...)
	}
	return dst
}

func (s *Stream) push(ev Event, ended bool) {
	s.mu.Lock()
	s.pending = append(s.pending, ev)
	s.ended = ended
	s.mu.Unlock()
	s.wake()
}

func (s *Stream) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake()
}

func (s *Stream) wake() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// pages are the keys of everything whose keys and values a real engine would
// hold at the end: the last token was sampled, never computed.
func (s *Stream) pages() []uint64 {
	p := &s.req.Prompt
	c := Counter{p: Prompt{Pages: slices.Clip(p.Pages)}, size: p.size, chain: p.Hash, fill: p.fill}
	for i := int64(0); i < s.done-1; i++ {
		c.Token(outputToken(s.seed, i).id)
	}
	return c.p.Pages
}
