package run

import (
	"sync"
	"sync/atomic"

	"tokentape/internal/workload"
)

// maxUncounted bounds the prompts that are kept for counting: when the tokenizer
// is that far behind, further ones stay uncounted rather than fill the memory.
const maxUncounted = 256

// inputs counts prompts beside the run, one at a time: counting must never hold
// up a send, and must leave the other cores to the streams.
type inputs struct {
	of    InputCounter
	queue chan *inputCount
	ended atomic.Bool // what is still queued belongs to rows that were never sent
	wg    sync.WaitGroup
}

// inputCount is the count of one prompt, once done is closed.
type inputCount struct {
	item workload.Item
	done chan struct{}
	n    int64
	ok   bool
}

func countInputs(count InputCounter) *inputs {
	c := &inputs{of: count, queue: make(chan *inputCount, maxUncounted)}
	c.wg.Go(func() {
		for x := range c.queue {
			if !c.ended.Load() {
				x.n, x.ok = c.of(x.item)
			}
			x.item = workload.Item{}
			close(x.done)
		}
	})
	return c
}

// count asks for the count of an item; nil when there is to be none.
func (c *inputs) count(item workload.Item) *inputCount {
	if c == nil {
		return nil
	}
	x := &inputCount{item: item, done: make(chan struct{})}
	select {
	case c.queue <- x:
		return x
	default:
		return nil
	}
}

// close ends the counting. Nobody may ask afterwards.
func (c *inputs) close() {
	c.ended.Store(true)
	close(c.queue)
	c.wg.Wait()
}

// wait is the count, waiting for it if need be.
func (x *inputCount) wait() (n int64, ok bool) {
	if x == nil {
		return 0, false
	}
	<-x.done
	return x.n, x.ok
}
