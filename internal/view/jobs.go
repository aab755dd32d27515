package view

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// mostWaiting bounds the work that was asked for and is not done.
const mostWaiting = 16

// mostFailed bounds the failures that are remembered.
const mostFailed = 100

var errBusy = errors.New("too much is being read already: try again in a while")

// job is something that takes a while: the analysis of a tape, a comparison.
type job struct {
	done, total atomic.Int64 // bytes of tapes that were read, of how many; 0 of 0: not known
	begun       atomic.Bool  // else it waits for others
}

// progress is what a page that waits is told.
type progress struct {
	State string `json:"state"` // "waiting", "reading", "ready", "failed"
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
	Why   string `json:"why,omitempty"`
}

func (j *job) progress() progress {
	if !j.begun.Load() {
		return progress{State: "waiting"}
	}
	return progress{State: "reading", Done: j.done.Load(), Total: j.total.Load()}
}

// works does one job at a time, and keeps what they made within bounds of memory. It is
// safe for concurrent use.
type works struct {
	ctx  context.Context
	turn chan struct{}
	most int64 // bytes that are kept; what was made last is, whatever its size

	mu     sync.Mutex
	jobs   map[string]*job
	failed map[string]error
	made   map[string]*list.Element
	order  *list.List // of *product, the one used last first
	held   int64
	all    sync.WaitGroup
}

type product struct {
	key  string
	body []byte
}

func newWorks(ctx context.Context, most int64) *works {
	return &works{
		ctx: ctx, turn: make(chan struct{}, 1), most: most,
		jobs: map[string]*job{}, failed: map[string]error{}, made: map[string]*list.Element{}, order: list.New(),
	}
}

// get is what make makes for a key: the body when it is there, else the job that makes
// it, which is begun, or why it failed. again tries what failed once more.
func (w *works) get(key string, again bool, make func(context.Context, *job) ([]byte, error)) ([]byte, *job, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := w.made[key]; ok {
		w.order.MoveToFront(e)
		return e.Value.(*product).body, nil, nil
	}
	if j, ok := w.jobs[key]; ok {
		return nil, j, nil
	}
	if err, ok := w.failed[key]; ok {
		if !again {
			return nil, nil, err
		}
		delete(w.failed, key)
	}
	if len(w.jobs) >= mostWaiting {
		return nil, nil, errBusy
	}
	if err := w.ctx.Err(); err != nil {
		return nil, nil, err
	}
	j := new(job)
	w.jobs[key] = j
	w.all.Go(func() { w.do(key, j, make) })
	return nil, j, nil
}

func (w *works) do(key string, j *job, make func(context.Context, *job) ([]byte, error)) {
	var body []byte
	var err error
	select {
	case w.turn <- struct{}{}:
		j.begun.Store(true)
		body, err = safely(w.ctx, j, make)
		<-w.turn
	case <-w.ctx.Done():
		err = w.ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, key)
	if err != nil {
		if len(w.failed) >= mostFailed {
			clear(w.failed)
		}
		w.failed[key] = err
		return
	}
	w.made[key] = w.order.PushFront(&product{key, body})
	w.held += int64(len(body))
	for w.held > w.most && w.order.Len() > 1 {
		last := w.order.Remove(w.order.Back()).(*product)
		delete(w.made, last.key)
		w.held -= int64(len(last.body))
	}
}

// safely makes a fault an error: a tape that breaks an analysis ends nothing else.
func safely(ctx context.Context, j *job, make func(context.Context, *job) ([]byte, error)) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a fault of tokentape: %v", v)
		}
	}()
	return make(ctx, j)
}

// wait returns when no job runs any more.
func (w *works) wait() { w.all.Wait() }
