package frame

import "bytes"

// mark is the byte order mark, ignored at the start of a stream.
const mark = "\xEF\xBB\xBF"

// swapAbove is the length from which a data line that was gathered over several
// chunks is not copied: it becomes the event, and the buffers change places.
const swapAbove = 64 << 10

// sse cuts a stream of server-sent events (HTML standard, section 9.2.6). Lines
// end in LF, CR LF or CR, in any mixture. An event is complete at the first byte
// of the line end that makes the empty line: it does not wait to see whether an
// LF follows a CR.
type sse struct {
	limit  int
	chunk  []byte
	pos    int
	lf, cr int // next of each in chunk, len(chunk) when there is none; stale when below pos

	line   []byte // beginning of an unfinished line, from earlier chunks
	data   []byte // data lines of the pending event, joined
	view   []byte // the pending event's only data line, while it still lies in chunk
	has    bool   // the pending event has a data line
	name   []byte
	bom    int  // bytes of mark seen; len(mark) when the start is past
	skipLF bool // the line before ended in CR: an LF now belongs to it
	err    error
}

func newSSE(limit int) *sse { return &sse{limit: limit} }

func (s *sse) Feed(chunk []byte) { s.chunk, s.pos, s.lf, s.cr = chunk, 0, -1, -1 }

func (s *sse) Next() (Event, bool, error) {
	if ev, ok := s.whole(); ok {
		return ev, true, nil
	}
	s.start()
	for s.err == nil && s.pos < len(s.chunk) {
		if s.skipLF {
			s.skipLF = false
			if s.chunk[s.pos] == '\n' {
				s.pos++
				continue
			}
		}
		end := s.lineEnd()
		if s.pending()+end-s.pos > s.limit {
			s.err = &TooLargeError{s.limit}
			break
		}
		line, inChunk := s.chunk[s.pos:end], true
		if end == len(s.chunk) || len(s.line) > 0 {
			s.line = append(s.line, line...)
			line, inChunk = s.line, false
		}
		if end == len(s.chunk) {
			s.pos = end
			break
		}
		s.skipLF = s.chunk[end] == '\r'
		s.pos = end + 1
		if len(line) > 0 {
			s.field(line, inChunk)
			s.line = s.line[:0]
			continue
		}
		ev, ok := s.take(), s.has
		s.has, s.view, s.name = false, nil, s.name[:0]
		if ok {
			ev.At = end
			return ev, true, nil
		}
	}
	if s.view != nil { // the chunk is about to go
		s.data, s.view = append(s.data[:0], s.view...), nil
	}
	return Event{}, false, s.err
}

// whole is an event as nearly all are: one data line and an empty one, LF at the end of
// both, all of it in the chunk, and nothing pending. Every other goes the long way.
func (s *sse) whole() (Event, bool) {
	const data = "data: "
	rest := s.chunk[s.pos:]
	if len(rest) < len(data) || string(rest[:len(data)]) != data || s.err != nil ||
		s.has || s.skipLF || s.bom < len(mark) || len(s.line)+len(s.name) > 0 {
		return Event{}, false
	}
	end := s.lineEnd()
	if end+1 >= len(s.chunk) || s.chunk[end] != '\n' || s.chunk[end+1] != '\n' || end-s.pos > s.limit {
		return Event{}, false
	}
	ev := Event{Payload: s.chunk[s.pos+len(data) : end], At: end + 1}
	s.pos = end + 2
	return ev, true
}

// start passes over a byte order mark, even one that is split over chunks.
func (s *sse) start() {
	for s.bom < len(mark) && s.pos < len(s.chunk) {
		if s.chunk[s.pos] == mark[s.bom] {
			s.bom++
			s.pos++
			continue
		}
		s.line = append(s.line, mark[:s.bom]...)
		s.bom = len(mark)
	}
}

// lineEnd is the index of the next line end in chunk, len(chunk) when there is
// none. Each byte is looked at once for either character, whichever is in use.
func (s *sse) lineEnd() int {
	if s.lf < s.pos {
		s.lf = s.find('\n')
	}
	if s.cr < s.pos {
		s.cr = s.find('\r')
	}
	return min(s.lf, s.cr)
}

func (s *sse) find(c byte) int {
	if i := bytes.IndexByte(s.chunk[s.pos:], c); i >= 0 {
		return s.pos + i
	}
	return len(s.chunk)
}

// field reads one line that is not empty. Comments, id, retry and unknown
// fields mean nothing here.
func (s *sse) field(line []byte, inChunk bool) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:] // one space only: a second one is payload
	}
	switch string(name) {
	case "data":
		switch {
		case !s.has && inChunk:
			s.view, s.data = value, s.data[:0]
		case !s.has && len(value) > swapAbove:
			s.data, s.line = value, s.data
		case !s.has:
			s.data = append(s.data[:0], value...)
		default:
			if s.view != nil {
				s.data, s.view = append(s.data[:0], s.view...), nil
			}
			s.data = append(append(s.data, '\n'), value...)
		}
		s.has = true
	case "event":
		s.name = append(s.name[:0], value...)
	}
}

// take is the pending event.
func (s *sse) take() Event {
	ev := Event{Payload: s.view}
	if s.view == nil {
		ev.Payload = s.data
	}
	switch string(s.name) { // the usual names without allocating
	case "":
	case "message":
		ev.Name = "message"
	case "error":
		ev.Name = "error"
	default:
		ev.Name = string(s.name)
	}
	return ev
}

// pending is how many bytes are held for the unfinished event.
func (s *sse) pending() int {
	n := len(s.line) + len(s.name) + len(s.view)
	if s.has && s.view == nil {
		n += len(s.data)
	}
	return n
}

func (s *sse) End() { s.chunk, s.pos = nil, 0 }

func (s *sse) Partial() int {
	n := s.pending()
	if s.bom < len(mark) {
		n += s.bom
	}
	return n
}

func (s *sse) Reset() {
	*s = sse{limit: s.limit, line: kept(s.line), data: kept(s.data), name: kept(s.name)}
}
