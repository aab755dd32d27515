package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tokentape/internal/probe"
	"tokentape/internal/workload"
)

// tooLong is what of the rows to be sent the server has no room for.
type tooLong struct {
	rows, over  int64
	first       int64 // the first of them
	input       int64 // of the first; 0: not known
	output      int64 // asked by the first; 0: left to the server
	outputAlone bool  // the first asks for an answer that alone leaves no room for a prompt
}

// checkLength says which rows ask for more tokens than the server's limit: a note,
// since those that fit are measured all the same, and servers differ in what they
// do with the others; an error when none fits and the engine is known to refuse
// such requests, since nothing could be measured.
func (j *job) checkLength(ctx context.Context, pre *probe.Result, show *loading) error {
	limit := pre.Context.Tokens
	if limit == 0 {
		return nil
	}
	defer show.done()
	var seen []bool // rows that the plan sends; nil: all may be
	if n := j.plan.Rows(); n > 0 {
		seen = make([]bool, j.source.Len())
		for i := range n {
			if r, ok := j.plan.At(i); ok {
				seen[r.Item] = true
			}
		}
	}
	t, err := j.measure(ctx, j.source, seen, j.plan.Params.Output, limit, show)
	if err != nil {
		return err
	}
	if err := j.sayTooLong(t, j.source, "rows", "workload.output_tokens, or the row's own max_tokens", pre); err != nil {
		return err
	}
	if j.prep.source == nil {
		return nil
	}
	prepared := make([]bool, j.prep.source.Len())
	for i := range j.prep.rows {
		prepared[i] = true
	}
	asked := forPrepare{j.prep.source, j.spec.Prepare.OutputTokens}
	if t, err = j.measure(ctx, asked, prepared, 0, limit, show); err != nil {
		return err
	}
	return j.sayTooLong(t, j.prep.source, "rows of prepare", "prepare.output_tokens", pre)
}

// forPrepare are rows that are sent with another output length, and not as
// sessions.
type forPrepare struct {
	itemSource
	output int64
}

func (f forPrepare) Item(i int64) (workload.Item, error) {
	item, err := f.itemSource.Item(i)
	item.OutputLen = f.output
	return item, err
}

func (f forPrepare) Longest() (input, output int64) {
	input, _ = f.itemSource.Longest()
	return input, f.output
}

// measure looks at the rows that are seen, several at a time. output is what rows
// without a length of their own ask for.
func (j *job) measure(ctx context.Context, src itemSource, seen []bool, output, limit int64, show *loading) (tooLong, error) {
	n := src.Len()
	t := tooLong{first: n}
	if in, out := src.Longest(); !j.count.countsInput() && max(in, 1)+max(out, output, 1) <= limit {
		return t, nil // whatever row it is, and no file is read again
	}
	var next, done atomic.Int64
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				show.rows("holding the rows against the server's limit", done.Add(1), n)
				if seen != nil && !seen[i] {
					continue
				}
				item, err := src.Item(i)
				if err != nil {
					mu.Lock()
					if failed == nil {
						failed = err
					}
					mu.Unlock()
					return
				}
				out := cmp.Or(item.OutputLen, output)
				in, over := j.over(item, out, limit)
				mu.Lock()
				t.rows++
				if over {
					if t.over++; i < t.first {
						t.first, t.input, t.output = i, in, out
						t.outputAlone = out >= limit
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	if failed != nil {
		return t, usageError(failed.Error())
	}
	return t, nil
}

// over reports whether an item and out tokens of answer are more than limit, by
// what is known of its input (0: nothing). Of a session it is the last turn; when
// the server's own answers go into it, their length is not known and is left out.
func (j *job) over(item workload.Item, out, limit int64) (in int64, over bool) {
	if j.spec.Workload.Sessions {
		if talk, err := workload.Converse(item, j.recorded()); err == nil {
			var replies []string
			if !j.recorded() {
				replies = make([]string, talk.Turns()-1)
			}
			item = talk.Turn(talk.Turns()-1, replies)
		}
	}
	asks := max(out, 1)
	switch {
	case item.TokenIDs != nil:
		in = int64(len(item.TokenIDs))
	case j.count.countsInput():
		if most, err := j.count.most(item); err == nil && most+asks <= limit {
			return 0, false
		}
		if n, err := j.count.input(item); err == nil {
			in = n
		}
	default:
		in = item.InputLen // a trace's own number
	}
	return in, max(in, 1)+asks > limit
}

// sayTooLong notes what does not fit, or refuses when nothing does.
func (j *job) sayTooLong(t tooLong, src itemSource, what, setting string, pre *probe.Result) error {
	if t.over == 0 {
		return nil
	}
	c := pre.Context
	sum := fmt.Sprintf("%d input + %d output = %d tokens", t.input, t.output, t.input+t.output)
	mend := "shorter prompts"
	switch {
	case t.outputAlone:
		sum, mend = fmt.Sprintf("%d output tokens alone", t.output), "fewer output tokens ("+setting+")"
	case t.output == 0:
		sum = fmt.Sprintf("%d input tokens, which leave no room for an answer", t.input)
	default:
		mend += ", or fewer output tokens (" + setting + ")"
	}
	text := fmt.Sprintf("%d of %d %s to be sent ask for more than the server's limit of %d tokens (%s); the first, %s, asks for %s",
		t.over, t.rows, what, c.Tokens, c.From, src.Where(t.first), sum)
	mend += ", or a server with a longer context"
	refuses := pre.Server.Engine == "sglang" || pre.Server.Engine == "vllm"
	switch {
	case c.Cuts:
		text += "; the server says that it cuts longer prompts: " + mend
	case refuses && t.over == t.rows:
		return usageError(j.mask("nothing could be measured: "+text), mend)
	default:
		text += "; a server refuses or cuts such requests: " + mend
	}
	if j.count.countsInput() || t.input > 0 {
		j.notes = append(j.notes, text)
		return nil
	}
	j.notes = append(j.notes, text+" (prompts were not counted: target.tokenizer)")
	return nil
}
