package aisbench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

var (
	npyDescr = regexp.MustCompile(`'descr': *'([^']*)'`)
	npyShape = regexp.MustCompile(`'shape': *\((\d+),\)`)
)

// century bounds time points, which are seconds on a machine's monotonic clock.
const century = 100 * 366 * 86400

// points reads a .npy file of one row of float64, as numpy.save writes it: the
// time points of a request in seconds. Errors: it is not one, it is torn, or a
// value is no time (NaN, infinite, or before the one in front of it).
func points(b []byte) ([]float64, error) {
	const magic = "\x93NUMPY"
	if len(b) < 10 || string(b[:6]) != magic {
		return nil, fmt.Errorf("no .npy array: it begins with %.20q", b[:min(len(b), 20)])
	}
	var head []byte
	switch size := 0; b[6] {
	case 1:
		size = int(binary.LittleEndian.Uint16(b[8:]))
		head, b = cut(b[10:], size)
	case 2, 3:
		if len(b) < 12 {
			return nil, errors.New(".npy array: torn in its head")
		}
		size = int(binary.LittleEndian.Uint32(b[8:]))
		head, b = cut(b[12:], size)
	default:
		return nil, fmt.Errorf(".npy array of version %d; 1 to 3 are known", b[6])
	}
	if head == nil {
		return nil, errors.New(".npy array: torn in its head")
	}
	kind, shape := npyDescr.FindSubmatch(head), npyShape.FindSubmatch(head)
	if kind == nil || string(kind[1]) != "<f8" || shape == nil || bytes.Contains(head, []byte("'fortran_order': True")) {
		return nil, fmt.Errorf(".npy array other than one row of float64: %.120q", bytes.TrimSpace(head))
	}
	n, err := strconv.ParseInt(string(shape[1]), 10, 64)
	if err != nil || n != int64(len(b)/8) || len(b)%8 != 0 {
		return nil, fmt.Errorf(".npy array: torn, its head tells of %s values, and %d bytes follow", shape[1], len(b))
	}
	t := make([]float64, n)
	for i := range t {
		t[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if !(math.Abs(t[i]) < century) {
			return nil, fmt.Errorf("time point %d is %v s, which no clock shows", i, t[i])
		}
		if i > 0 && t[i] < t[i-1] {
			return nil, fmt.Errorf("time point %d, %v s, is before the one in front of it, %v s", i, t[i], t[i-1])
		}
	}
	return t, nil
}

// cut splits b after n bytes; head is nil when it has fewer.
func cut(b []byte, n int) (head, rest []byte) {
	if n > len(b) || n < 0 {
		return nil, nil
	}
	return b[:n:n], b[n:]
}
