package simserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"tokentape/internal/sim"
)

// wire is what the faults of form keep about one answer.
type wire struct {
	held bytes.Buffer // kept back until the end, or compressed and not yet written
	zip  *gzip.Writer
	sent bool // something was written
	last bool // nothing follows the next flush
	mute bool // tokens are made and not sent
}

const loginPage = "<!doctype html>\n<html><head><title>Log in</title></head><body><form><input name=\"user\"></form></body></html>\n"

// misdirect plays the faults that answer without looking at the request.
func (a *answer) misdirect() bool {
	switch {
	case a.happens(FaultRedirect):
		a.play()
		to := a.f.Body
		if to == "" {
			to = "/elsewhere"
		}
		a.t.Status = a.f.code(http.StatusTemporaryRedirect)
		a.w.Header().Set("Location", to)
		a.w.WriteHeader(a.t.Status)
	case a.happens(FaultHTML):
		a.play()
		a.t.Status = http.StatusOK
		a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(a.w, loginPage)
	case a.happens(FaultSilent):
		_ = a.hang()
	default:
		return false
	}
	return true
}

// contentType sets the type, unless a fault has another.
func (a *answer) contentType(kind string) {
	if a.happens(FaultType) {
		a.play()
		if kind = a.f.Body; kind == "" {
			kind = "text/plain"
		}
	}
	a.w.Header().Set("Content-Type", kind)
}

// hang waits until the client leaves or the server is closed.
func (a *answer) hang() error {
	a.play()
	select {
	case <-a.ctx.Done():
	case <-a.s.gone:
		panic(http.ErrAbortHandler)
	}
	return errPlayed
}

// beforeAnswer plays what is decided before the first byte.
func (a *answer) beforeAnswer() {
	switch {
	case a.happens(FaultUsageEvery):
		a.play()
		a.g.usage, a.g.everyUse = true, true
	case a.happens(FaultUsageNull):
		a.g.usage, a.g.everyUse = false, false
	case a.happens(FaultUsageDummy), a.happens(FaultUsageBare), a.happens(FaultUsageFloat):
		a.g.usage = true
	case a.happens(FaultFilter), a.happens(FaultEmpty):
		a.wire.mute = true
	case a.happens(FaultGzip), a.happens(FaultGzipEnd):
		a.w.Header().Set("Content-Encoding", "gzip")
		a.wire.zip = gzip.NewWriter(&a.wire.held)
	case a.happens(FaultOneShot):
		a.play()
		a.g.stream = false
	}
}

// next waits for events of the engine; comments go out meanwhile.
func (a *answer) next(sent int64) ([]sim.Event, error) {
	if sent > 0 || a.f == nil || a.f.Kind != FaultComments {
		return a.st.Next(a.ctx, a.events[:0])
	}
	a.play()
	for {
		a.buf = append(a.buf, ": keep-alive\n\n"...)
		if err := a.flush(); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancelCause(a.ctx)
		timer := a.s.clk.AfterFunc(int64(a.f.lasts(100*time.Millisecond)), func() { cancel(errComment) })
		events, err := a.st.Next(ctx, a.events[:0])
		timer.Stop()
		cancel(nil)
		if !errors.Is(err, errComment) {
			return events, err
		}
	}
}

var errComment = errors.New("time for a comment")

// insert plays the faults that put an event between two tokens.
func (a *answer) insert() bool {
	b := a.buf
	switch a.f.Kind {
	case FaultMalformed:
		b = append(b, "data: {\"choices\":[{\"ind\n\n"...)
	case FaultNaN:
		b = append(b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" \"},\"logprobs\":{\"v\":NaN}}]}\n\n"...)
	case FaultPing:
		b = append(b, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	case FaultHuge:
		size := a.f.Size
		if size == 0 {
			size = 70_000
		}
		b = append(b, a.enc.prefix...)
		if a.g.chat {
			b = append(b, `{"index":0,"delta":{"content":"`...)
		} else {
			b = append(b, `{"index":0,"text":"`...)
		}
		b = append(b, bytes.Repeat([]byte("x"), int(size))...)
		if a.g.chat {
			b = append(b, `"}`...)
		} else {
			b = append(b, '"')
		}
		b = append(b, ",\"finish_reason\":null}]}\n\n"...)
	default:
		return false
	}
	a.play()
	a.buf = b
	return true
}

var (
	finishForm = regexp.MustCompile(`"finish_reason":"(stop|length)"`)
	floatForm  = regexp.MustCompile(`"completion_tokens":(\d+)`)
)

// ending appends everything after the last token, as the fault has it.
func (a *answer) ending(b []byte, usage, done bool) []byte {
	if a.f == nil {
		return a.enc.end(b, usage, done)
	}
	const doneEvent = "data: [DONE]\n\n"
	end := a.enc.end(nil, usage, done)
	finish := func(reason string) {
		end = finishForm.ReplaceAll(end, []byte(`"finish_reason":"`+reason+`"`))
		b = finishForm.ReplaceAll(b, []byte(`"finish_reason":"`+reason+`"`)) // of completions: with the last token
	}
	switch a.f.Kind {
	case FaultTruncate:
		end, b = nil, finishForm.ReplaceAll(b, []byte(`"finish_reason":null`))
	case FaultDoubleDone:
		end = append(end, doneEvent...)
	case FaultGhost:
		end = a.enc.tokens(end, 0, 1)
		end = a.enc.end(end, true, false)
	case FaultUsageNull:
		end = bytes.TrimSuffix(end, []byte(doneEvent))
		end = append(append(end, a.enc.prefix...), "],\"usage\":null}\n\n"+doneEvent...)
	case FaultUsageDummy:
		end = bytes.Replace(end, []byte(`"choices":[],`), []byte(`"choices":[{"index":0,"delta":{"content":null}}],`), 1)
	case FaultUsageBare:
		end = bytes.Replace(end, []byte(`"choices":[],`), nil, 1)
	case FaultUsageFloat:
		end = floatForm.ReplaceAll(end, []byte(`"completion_tokens":$1.0`))
	case FaultAbort:
		finish("abort")
	case FaultFilter, FaultEmpty:
		reason := "stop"
		if a.f.Kind == FaultFilter {
			reason = "content_filter"
		}
		finish(reason)
		if !a.g.chat { // its finish reason came with the last token
			b = append(append(b, a.enc.prefix...), `{"index":0,"text":"","finish_reason":"`+reason+`"}]}`+"\n\n"...)
		}
		end = floatForm.ReplaceAll(end, []byte(`"completion_tokens":0`))
	default:
		return append(b, end...)
	}
	a.play()
	return append(b, end...)
}

// afterDone keeps the connection open, when that is the fault.
func (a *answer) afterDone() error {
	if a.happens(FaultLinger) {
		a.play()
		over := make(chan struct{})
		timer := a.s.clk.AfterFunc(int64(a.f.lasts(30*time.Second)), func() { close(over) })
		defer timer.Stop()
		select {
		case <-over:
		case <-a.ctx.Done():
		case <-a.s.gone:
		}
	}
	return nil
}

// distort changes the form of what is about to be written. It reports that
// nothing is to be written yet.
func (a *answer) distort() (held bool) {
	w := &a.wire
	replace := func(old, new string) {
		a.buf = []byte(strings.ReplaceAll(string(a.buf), old, new))
		a.play()
	}
	switch a.f.Kind {
	case FaultCRLF:
		replace("\n", "\r\n")
	case FaultCR:
		replace("\n", "\r")
	case FaultNoSpace:
		replace("data: ", "data:")
	case FaultMultiLine:
		replace(`data: {"`, "data: {\ndata:   \"")
	case FaultFields:
		replace("data: ", "event: message\nid: 7\nretry: 3000\nx-trace: abc\nnocolon\ndata: ")
	case FaultEmptyReasons:
		replace(`"finish_reason":null`, `"finish_reason":""`)
	case FaultBOM:
		if !w.sent {
			a.play()
			a.buf = append([]byte("\xEF\xBB\xBF"), a.buf...)
		}
	case FaultDrip:
		a.play()
		for i := 0; i+1 < len(a.buf); i++ {
			if a.write(a.buf[i:i+1]) != nil {
				break // the last byte's write says so, too
			}
		}
		a.buf = a.buf[max(len(a.buf)-1, 0):]
	case FaultBuffer:
		a.play()
		w.held.Write(a.buf)
		a.buf = a.buf[:0]
		if !w.last {
			return true
		}
		a.buf = append(a.buf, w.held.Bytes()...)
	case FaultGzip, FaultGzipEnd:
		a.play()
		_, _ = w.zip.Write(a.buf) // into memory: cannot fail
		a.buf = a.buf[:0]
		switch {
		case w.last:
			_ = w.zip.Close()
		case a.f.Kind == FaultGzipEnd:
			return true
		default:
			_ = w.zip.Flush()
		}
		a.buf = append(a.buf, w.held.Bytes()...)
		w.held.Reset()
	}
	w.sent = true
	return false
}
