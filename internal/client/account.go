package client

import (
	"bytes"
	"strconv"
	"strings"
)

// account follows the raw bytes of one HTTP/1 response and tells which of them
// are body bytes. It keeps no bytes but one line's beginning, and never fails:
// what it does not understand makes it broken, and the caller falls back to
// coarser stamps.
type account struct {
	state   state
	mode    mode
	left    int64 // body bytes left in this chunk or body; bytes left of a chunk's CRLF
	heads   int   // status lines begun: the final one and every 1xx before it
	head    bool  // the request was HEAD
	folds   bool  // the last header line decided about the body
	minor0  bool  // HTTP/1.0: Transfer-Encoding does not count
	chunked bool
	length  int64 // Content-Length, -1: none
	code    int
	digits  int // of the chunk size so far
	n       int // bytes of the present line, all of them
	line    [64]byte
}

type state uint8

const (
	stStatus state = iota // before the end of a status line
	stHeader
	stBody      // Content-Length, or until the connection ends
	stSize      // hex digits of a chunk size
	stExtension // the rest of that line
	stChunk
	stChunkEnd // CR LF after a chunk
	stTrailer
	stDone
	stBroken
)

// mode is how the response says where its body ends.
type mode uint8

const (
	modeUnknown mode = iota
	modeNone
	modeLength
	modeChunked
	modeUntilClose
)

func (a *account) reset(method string) {
	*a = account{head: method == "HEAD", length: -1}
}

// feed takes the next raw bytes and returns how many of them are body bytes.
func (a *account) feed(p []byte) (body int) {
	for len(p) > 0 {
		switch a.state {
		case stStatus, stHeader, stTrailer:
			if a.state == stStatus && a.n == 0 {
				a.heads++
			}
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				a.keep(p)
				return body
			}
			a.keep(p[:i])
			p = p[i+1:]
			a.endLine()
		case stBody:
			k := len(p)
			if a.mode == modeLength {
				k = int(min(int64(k), a.left))
				if a.left -= int64(k); a.left == 0 {
					a.state = stDone
				}
			}
			body += k
			p = p[k:]
		case stSize:
			i := 0
			for ; i < len(p); i++ {
				d := hexDigits[p[i]]
				if d < 0 {
					break
				}
				if a.digits++; a.digits > 15 { // net/http allows 16; the 16th is beyond any body
					a.state = stBroken
					return body
				}
				a.left = a.left<<4 | int64(d)
			}
			if p = p[i:]; len(p) == 0 {
				return body
			}
			if a.state = stExtension; a.digits == 0 {
				a.state = stBroken
			}
		case stExtension:
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				return body
			}
			p = p[i+1:]
			if a.state, a.n = stChunk, 0; a.left == 0 {
				a.state = stTrailer
			}
		case stChunk:
			k := int(min(int64(len(p)), a.left))
			body += k
			p = p[k:]
			if a.left -= int64(k); a.left == 0 {
				a.state, a.left = stChunkEnd, 2
			}
		case stChunkEnd:
			k := int(min(int64(len(p)), a.left))
			p = p[k:]
			if a.left -= int64(k); a.left == 0 {
				a.state, a.digits = stSize, 0
			}
		default: // done or broken: nothing here is a body
			return body
		}
	}
	return body
}

// torn reports whether what came so far is the beginning of a head, or nothing.
func (a *account) torn() bool {
	const begin = "HTTP/1."
	if a.state == stStatus {
		n := min(a.n, len(begin))
		return string(a.line[:n]) == begin[:n]
	}
	return a.state == stHeader
}

// keep adds to the present line, of which only the beginning is ever needed.
func (a *account) keep(p []byte) {
	if a.n < len(a.line) {
		copy(a.line[a.n:], p)
	}
	a.n += len(p)
}

func (a *account) endLine() {
	full := a.n
	line := strings.TrimSuffix(string(a.line[:min(full, len(a.line))]), "\r")
	a.n = 0
	switch {
	case a.state == stTrailer:
		if line == "" {
			a.state = stDone
		}
	case a.state == stStatus:
		if a.code = statusCode(line); a.code == 0 {
			a.state = stBroken
			return
		}
		a.state, a.minor0 = stHeader, strings.HasPrefix(line, "HTTP/1.0")
	case line == "":
		a.endHeader()
	case line[0] == ' ' || line[0] == '\t':
		if a.folds {
			a.state = stBroken
		}
	default:
		a.header(line, full <= len(a.line))
	}
}

func (a *account) header(line string, whole bool) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	a.folds = true
	switch {
	case strings.EqualFold(name, "Transfer-Encoding") && !a.minor0:
		a.chunked = true
		if !whole || !strings.EqualFold(value, "chunked") {
			a.state = stBroken
		}
	case strings.EqualFold(name, "Content-Length"):
		n, err := strconv.ParseUint(value, 10, 63)
		if !whole || err != nil || a.length >= 0 && a.length != int64(n) {
			a.state = stBroken
			return
		}
		a.length = int64(n)
	default:
		a.folds = false
	}
}

func (a *account) endHeader() {
	switch {
	case a.code == 101: // no longer HTTP
		a.state = stBroken
	case a.code < 200:
		*a = account{head: a.head, heads: a.heads, length: -1}
	case a.head, a.code == 204, a.code == 304:
		a.mode, a.state = modeNone, stDone
	case a.chunked:
		a.mode, a.state, a.digits, a.left = modeChunked, stSize, 0, 0
	case a.length == 0:
		a.mode, a.state = modeNone, stDone
	case a.length > 0:
		a.mode, a.state, a.left = modeLength, stBody, a.length
	default:
		a.mode, a.state = modeUntilClose, stBody
	}
}

func statusCode(line string) int {
	if len(line) < len("HTTP/1.1 200") || !strings.HasPrefix(line, "HTTP/1.") {
		return 0
	}
	code, err := strconv.Atoi(line[9:12])
	if err != nil || code < 100 {
		return 0
	}
	return code
}

// hexDigits are the values of hexadecimal digits by byte, −1 for any other.
var hexDigits = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range "0123456789abcdef" {
		t[c] = int8(i)
	}
	for i, c := range "ABCDEF" {
		t[c] = int8(10 + i)
	}
	return t
}()
