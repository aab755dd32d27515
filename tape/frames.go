package tape

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const frameMagic = "\x28\xb5\x2f\xfd"

// isZstd tells by content; skippable frames (50 2a 4d 18 …) count too.
func isZstd(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	return string(head[:4]) == frameMagic || head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// damage is a place where a compressed tape could not be read. Reading may go
// on after it.
type damage struct{ why string }

func (d *damage) Error() string { return d.why }

// frames reads concatenated zstd frames. At a torn or damaged one it gives what
// it could decode, then a *damage, then goes on with the next frame it finds.
type frames struct {
	raw  *rawFile
	dec  *zstd.Decoder
	skip bool // look for the next frame before reading on
}

func newFrames(raw *rawFile) (*frames, error) {
	// One goroutine less and no look-ahead: after an error the raw position is
	// just behind the block that failed. 128 MiB is the largest window that the
	// zstd tool uses without being told.
	dec, err := zstd.NewReader(raw,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	return &frames{raw: raw, dec: dec}, nil
}

func (f *frames) Read(p []byte) (int, error) {
	if f.skip {
		if !f.raw.seekMagic() {
			if f.raw.err != nil {
				return 0, f.raw.err
			}
			return 0, io.EOF
		}
		if err := f.dec.Reset(f.raw); err != nil {
			return 0, err
		}
		f.skip = false
	}
	n, err := f.dec.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	if f.raw.err != nil { // the file, not its content
		return n, f.raw.err
	}
	f.skip = true
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, &damage{fmt.Sprintf("zstd frame torn at the end of the file, byte %d", f.raw.off)}
	}
	return n, &damage{fmt.Sprintf("zstd frame damaged before byte %d of the file: %v", f.raw.off, err)}
}

// rawFile counts what is taken from the file and remembers its own errors.
type rawFile struct {
	r   *bufio.Reader
	off int64
	err error // other than io.EOF

	watch func(done int64) // nil: nobody
}

func (f *rawFile) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.off += int64(n)
	if f.watch != nil && n > 0 {
		f.watch(f.off)
	}
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// seekMagic moves to the next place that looks like the start of a frame.
func (f *rawFile) seekMagic() bool {
	for {
		head, err := f.r.Peek(4)
		if string(head) == frameMagic {
			return true
		}
		if len(head) < 4 {
			if err != io.EOF {
				f.err = err
			}
			return false
		}
		_, _ = f.r.Discard(1)
		f.off++
	}
}
