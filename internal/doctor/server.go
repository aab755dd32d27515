package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"tokentape/internal/clock"
	"tokentape/simserver"
)

// Paths of the built-in server.
const (
	streamPath = "/stream" // ?rate=tokens/s&events=N, at most maxRate and maxEvents
	truthPath  = "/truth"  // takes what was written since the last time
)

const (
	maxRate   = 1e5
	maxEvents = 1 << 20
)

// server answers with streams that are independent of each other, one token every
// 1/rate seconds on absolute deadlines of each stream's own, and keeps when it wrote
// which event. A batching engine writes to all streams at once; the last of many then
// waits for the others whoever reads, which is nothing a client could mend.
type server struct {
	clk *clock.Clock
	mu  sync.Mutex
	all []simserver.Truth
}

// Serve is the built-in server's process: it listens on a free port of the loopback,
// prints its URL as the first line of out and serves until in ends or ctx is done.
func Serve(ctx context.Context, clk *clock.Clock, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: &server{clk: clk}}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		_ = l.Close()
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	context.AfterFunc(ctx, func() { _ = hs.Close() })
	if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case streamPath:
		s.stream(w, r)
	case truthPath:
		s.mu.Lock()
		all := s.all
		s.all = nil
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
	default:
		http.NotFound(w, r)
	}
}

// eventText is what a server of chat completions sends for a token.
const eventText = `data: {"id":"chatcmpl-doctor","object":"chat.completion.chunk","created":1,"model":"doctor","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

const lastText = `data: {"id":"chatcmpl-doctor","object":"chat.completion.chunk","created":1,"model":"doctor","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	rate, err := strconv.ParseFloat(r.URL.Query().Get("rate"), 64)
	events, err2 := strconv.Atoi(r.URL.Query().Get("events"))
	if err != nil || err2 != nil || !(rate > 0 && rate <= maxRate) || events < 1 || events > maxEvents {
		http.Error(w, "rate and events must be above 0", http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	begin, gap := s.clk.Now(), 1e9/rate
	x := simserver.Truth{ID: r.Header.Get("X-Request-Id"), Received: s.clk.Machine(begin), WriteStart: make([]int64, 0, events)}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	text := []byte(eventText)
	for i := range events {
		if s.clk.SleepUntil(r.Context(), begin+int64(float64(i+1)*gap)) != nil {
			return
		}
		x.WriteStart = append(x.WriteStart, s.clk.Machine(s.clk.Now()))
		if _, err := w.Write(text); err != nil || flush.Flush() != nil {
			return
		}
	}
	s.mu.Lock()
	s.all = append(s.all, x)
	s.mu.Unlock()
	_, _ = io.WriteString(w, lastText)
}
