package exchange

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"tokentape/internal/client"
)

// body is what an answer is read from: a *client.Body, or one that is decoded.
type body interface {
	Read(p []byte) (int, error)
	Marks() []client.Mark
	Last() int64
}

// codings are the content codings that are decoded although none was asked for.
// A body that does not begin like its coding is taken as it stands: some servers
// name one and send plain text.
var codings = map[string]struct {
	magic []byte
	open  func(io.Reader) (io.Reader, error)
}{
	"gzip":    {[]byte{0x1f, 0x8b}, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	"x-gzip":  {[]byte{0x1f, 0x8b}, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	"deflate": {[]byte{0x78}, func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }},
	"zstd": {[]byte{0x28, 0xb5, 0x2f, 0xfd}, func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderLowmem(true))
	}},
}

// encoded decodes a compressed body as it comes. The stamp of a decoded byte is
// that of the read that brought the last compressed byte it needed, and so what
// the server holds back in its compressor counts as not yet there.
type encoded struct {
	body   *client.Body
	coding string
	dec    io.Reader // nil before the first read
	in     bool      // the body is compressed indeed

	buf   []byte // compressed bytes not yet handed to the decoder are raw
	raw   []byte
	marks []client.Mark // of raw
	t     int64         // stamp of the last byte handed to the decoder
	err   error         // how the body ended, behind raw
	mark  [1]client.Mark
	n     int
}

// open is the body of a response, with its content coding taken off if that is a
// known one.
func (x *flight) open(resp *client.Response) body {
	coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if _, ok := codings[coding]; !ok {
		return resp.Body
	}
	x.encoded = &encoded{body: resp.Body, coding: coding, buf: make([]byte, readBuffer)}
	return x.encoded
}

func (e *encoded) Read(p []byte) (n int, err error) {
	e.n = 0
	if e.dec == nil {
		if err := e.open(); err != nil {
			return 0, e.failed(err)
		}
	}
	n, err = e.dec.Read(p)
	if e.n = n; n > 0 {
		e.mark[0] = client.Mark{N: n, T: e.t}
	}
	return n, e.failed(err)
}

// open looks at the first bytes, which may come one at a time.
func (e *encoded) open() error {
	c := codings[e.coding]
	in := bufio.NewReader(source{e})
	for i := range c.magic {
		first, err := in.Peek(i + 1)
		if err == io.EOF && i > 0 { // cut inside the coding's own first bytes
			e.in, e.dec = true, ended{io.ErrUnexpectedEOF}
			return io.ErrUnexpectedEOF
		}
		if err != nil || !bytes.Equal(first, c.magic[:i+1]) {
			e.dec = in
			return nil
		}
	}
	e.in = true
	var err error
	if e.dec, err = c.open(in); err != nil {
		e.dec = ended{err}
	}
	return err
}

// failed makes a fault of the coding an error of the body.
func (e *encoded) failed(err error) error {
	var of *client.Error
	if err == nil || err == io.EOF || errors.As(err, &of) {
		return err
	}
	f := &client.Error{Class: client.ClassOther, Phase: client.PhaseBody, Doing: "decode the " + e.coding + " body (identity was asked for)", Err: err}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		f.Class = client.ClassEOF
	}
	return f
}

func (e *encoded) Marks() []client.Mark {
	if e.n == 0 {
		return nil
	}
	return e.mark[:]
}

func (e *encoded) Last() int64 { return e.body.Last() }

// source hands on the compressed bytes of one read of the connection at a time.
type source struct{ e *encoded }

func (s source) Read(p []byte) (int, error) {
	e := s.e
	if len(e.raw) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var n int
		n, e.err = e.body.Read(e.buf)
		e.raw, e.marks = e.buf[:n], e.body.Marks()
		if n == 0 {
			return 0, e.err
		}
	}
	m := &e.marks[0]
	n := copy(p, e.raw[:m.N])
	e.raw, e.t = e.raw[n:], m.T
	if m.N -= n; m.N == 0 {
		e.marks = e.marks[1:]
	}
	return n, nil
}

// ended is a reader that has failed.
type ended struct{ err error }

func (r ended) Read([]byte) (int, error) { return 0, r.err }
