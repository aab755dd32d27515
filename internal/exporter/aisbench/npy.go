package aisbench

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// appendNPY appends t as numpy.save writes a row of float64: .npy version 1.0,
// little endian, the head padded so that the values begin at a multiple of 64.
func appendNPY(b []byte, t []float64) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", len(t))
	const fixed = 10 // magic, version and the size of the head
	size := (fixed + len(head) + 1 + 63) / 64 * 64
	head += strings.Repeat(" ", size-fixed-len(head)-1) + "\n"
	b = append(b, "\x93NUMPY\x01\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	b = append(b, head...)
	for _, v := range t {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}
