package main

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"

	"tokentape/internal/clock"
	"tokentape/simserver"
)

// serving says what the server does.
type serving struct {
	Events int    `json:"events"`           // token events of every answer
	TTFT   int64  `json:"ttft,omitempty"`   // ns from the end of the request to its first event
	Gap    int64  `json:"gap,omitempty"`    // ns between two events; each stream has a phase of its own
	Whole  bool   `json:"whole,omitempty"`  // the answer is written at once, in one piece
	Engine bool   `json:"engine,omitempty"` // the simulated server, in steps of Gap
	Truths string `json:"truths,omitempty"` // file of the truths, written in the end; "": none are kept
}

// served is what the server says of itself when it has ended.
type served struct {
	Requests int64 `json:"requests"`
	Complete int64 `json:"complete"` // answers written to their end
	Broken   int64 `json:"broken"`   // connections that ended inside a request or an answer
	First    int64 `json:"first"`    // CLOCK_MONOTONIC of the first request's end
	Last     int64 `json:"last"`     // and of the last answer's last write
	CPU      int64 `json:"cpu"`      // ns of processor time
}

// server answers every POST with a stream of events. It is one thread over epoll: what it
// costs is a system call an event and next to nothing else, so that on two cores the
// client has what it can use, and its truth is read right before each write. (net/http
// with a goroutine a stream costs several times as much.)
type server struct {
	serving
	clk    *clock.Clock
	answer *answer
	poll   int // epoll
	listen int
	conns  map[int32]*conn
	due    dues
	buf    []byte
	out    served
	truths []*simserver.Truth
}

// conn is one connection and the request on it.
type conn struct {
	fd    int32
	head  []byte // of a request, as far as it has come; nil while its body is read
	need  int64  // bytes of the body still to come
	get   bool
	next  int    // event to be written next
	due   int64  // when
	rest  []byte // of a write that did not fit
	truth *simserver.Truth
}

// serve runs a server until standard input ends. ready is told its URL once.
func serve(s serving, ready func(url string)) (served, error) {
	debug.SetGCPercent(800) // what is measured is the client, not this collector
	srv := &server{serving: s, clk: clock.NewPrecise(), answer: newAnswer(s.Events), conns: map[int32]*conn{}, buf: make([]byte, 256<<10)}
	defer srv.clk.Lock()()
	if err := srv.open(ready); err != nil {
		return srv.out, fmt.Errorf("the server cannot listen: %w", err)
	}
	if err := srv.loop(); err != nil {
		return srv.out, err
	}
	srv.out.CPU = processCPU()
	if s.Truths != "" {
		return srv.out, writeTruths(s.Truths, srv.truths)
	}
	return srv.out, nil
}

func (s *server) open(ready func(string)) (err error) {
	if s.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if s.listen, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err = unix.Bind(s.listen, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err = unix.Listen(s.listen, 65535); err != nil { // the kernel caps it at somaxconn
		return err
	}
	at, err := unix.Getsockname(s.listen)
	if err != nil {
		return err
	}
	for _, fd := range []int{0, s.listen} {
		if err = s.watch(unix.EPOLL_CTL_ADD, int32(fd), unix.EPOLLIN); err != nil {
			return err
		}
	}
	ready(fmt.Sprintf("http://127.0.0.1:%d", at.(*unix.SockaddrInet4).Port))
	return nil
}

func (s *server) watch(op int, fd int32, events uint32) error {
	return unix.EpollCtl(s.poll, op, int(fd), &unix.EpollEvent{Events: events, Fd: fd})
}

// most is how many events are written before connections are looked at again.
const most = 64

func (s *server) loop() error {
	events := make([]unix.EpollEvent, 256)
	for {
		if err := s.wait(); err != nil {
			return err
		}
		n, err := unix.EpollWait(s.poll, events, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			switch c := s.conns[e.Fd]; {
			case e.Fd == 0:
				if k, err := unix.Read(0, s.buf); k == 0 || err != nil {
					return nil
				}
			case e.Fd == int32(s.listen):
				if err := s.accept(); err != nil {
					return err
				}
			case c == nil: // closed by an event before
			case e.Events&unix.EPOLLOUT != 0:
				s.write(c, nil)
			default:
				s.read(c)
			}
		}
		for now, k := s.clk.Now(), 0; k < most && len(s.due) > 0 && s.due[0].due <= now; k++ {
			s.step(s.due[0])
		}
	}
}

// wait returns when a descriptor has something, or an event is due.
func (s *server) wait() error {
	var timeout *unix.Timespec
	if len(s.due) > 0 {
		ts := unix.NsecToTimespec(max(0, s.due[0].due-s.clk.Now()))
		timeout = &ts
	}
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(s.poll), Events: unix.POLLIN}}, timeout, nil)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

func (s *server) accept() error {
	for {
		fd, _, err := unix.Accept4(s.listen, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return fmt.Errorf("the server has %d connections and cannot accept another: %w (raise the descriptor limit: ulimit -n)", len(s.conns), err)
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		s.conns[int32(fd)] = &conn{fd: int32(fd)}
		if err := s.watch(unix.EPOLL_CTL_ADD, int32(fd), unix.EPOLLIN); err != nil {
			return err
		}
	}
}

func (s *server) drop(c *conn) {
	if len(c.head) > 0 || c.need > 0 || c.truth != nil {
		s.out.Broken++
	}
	s.due.remove(c)
	delete(s.conns, c.fd)
	_ = unix.Close(int(c.fd))
}

// read takes what came: the head of a request, then its body, which is counted only.
func (s *server) read(c *conn) {
	n, err := unix.Read(int(c.fd), s.buf)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if n <= 0 || err != nil {
		s.drop(c)
		return
	}
	b := s.buf[:n]
	if c.need == 0 {
		c.head = append(c.head, b...)
		end := bytes.Index(c.head, []byte("\r\n\r\n"))
		if end < 0 {
			return
		}
		head := c.head[:end+2]
		length, _ := strconv.ParseInt(field(head, "content-length"), 10, 64)
		c.get = bytes.HasPrefix(head, []byte("GET "))
		c.truth = &simserver.Truth{ID: field(head, "x-request-id")}
		c.need = length - int64(len(c.head)-end-4)
		c.head = c.head[:0]
	} else {
		c.need -= int64(n)
	}
	if c.need <= 0 {
		c.need = 0
		s.begin(c)
	}
}

// field is the value of a header field, "" when it is not there.
func field(head []byte, name string) string {
	for line := range bytes.Lines(head) {
		k, v, _ := bytes.Cut(line, []byte(":"))
		if len(k) == len(name) && bytes.EqualFold(k, []byte(name)) {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

// begin answers a request that has been read to its end.
func (s *server) begin(c *conn) {
	if c.get {
		c.truth = nil
		s.write(c, models)
		return
	}
	now := s.clk.Now()
	at := s.clk.Machine(now)
	if s.out.First == 0 {
		s.out.First = at
	}
	c.truth.N, c.truth.Received = int(s.out.Requests), at
	s.out.Requests++
	if s.Whole {
		s.finish(c, s.write(c, s.answer.whole))
		return
	}
	if s.Truths != "" {
		c.truth.WriteStart = make([]int64, 0, s.Events)
	}
	// Multiples of the golden ratio lie evenly, however many streams there are.
	phase := float64(c.truth.N) * 0.6180339887498949
	c.next, c.due = 0, now+s.TTFT+int64((phase-float64(int64(phase)))*float64(s.Gap))
	s.due.add(c)
}

// step writes the event that is due.
func (s *server) step(c *conn) {
	now := s.clk.Now()
	if s.Truths != "" {
		c.truth.WriteStart = append(c.truth.WriteStart, s.clk.Machine(now))
	}
	c.next++
	last := c.next == s.Events
	if !last {
		c.due += s.Gap
		s.due.down(0)
	} else {
		s.due.remove(c)
	}
	if ok := s.write(c, s.answer.event(c.next-1, s.Events)); last {
		s.finish(c, ok)
	}
}

// finish keeps the truth of an answer that was handed to the connection.
func (s *server) finish(c *conn, ok bool) {
	if !ok {
		return
	}
	s.out.Last = s.clk.Machine(s.clk.Now())
	s.out.Complete++
	if s.Truths != "" {
		c.truth.End = s.out.Last
		s.truths = append(s.truths, c.truth)
	}
	c.truth = nil
}

// write hands b to the connection, after what did not fit before. It reports false when
// the connection is gone.
func (s *server) write(c *conn, b []byte) bool {
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		b = c.rest
	}
	n, err := unix.Write(int(c.fd), b)
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		s.drop(c)
		return false
	}
	waited := len(c.rest) > 0
	rest := b[max(n, 0):]
	c.rest = append(c.rest[:0], rest...)
	if wants := len(c.rest) > 0; wants != waited {
		events := uint32(unix.EPOLLIN)
		if wants {
			events = unix.EPOLLOUT // nothing is read before the answer is out
		}
		if err := s.watch(unix.EPOLL_CTL_MOD, c.fd, events); err != nil {
			s.drop(c)
			return false
		}
	}
	return true
}
