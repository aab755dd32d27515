package aisbench

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// npy is what numpy.save writes of t.
func npy(t ...float64) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", len(t))
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head)))
	b = append(b, head...)
	for _, v := range t {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func TestPointsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Float64Range(-century+1, century-1)).Draw(t, "points")
		slices.Sort(want)
		got, err := points(npy(want...))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
}

func TestBadPoints(t *testing.T) {
	good := npy(1, 2, 3)
	change := func(old, new string) []byte {
		return []byte(strings.Replace(string(good), old, new, 1))
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":     {nil, "no .npy array"},
		"a pickle":    {[]byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00"), "no .npy array"},
		"version":     {change("\x01\x00", "\x09\x00"), "version 9"},
		"head":        {good[:40], "torn in its head"},
		"torn":        {good[:len(good)-3], "torn, its head tells of 3 values, and 21 bytes follow"},
		"a value off": {good[:len(good)-8], "torn, its head tells of 3 values, and 16 bytes follow"},
		"more":        {append(slices.Clone(good), 0), "torn"},
		"float32":     {change("<f8", "<f4"), "other than one row of float64"},
		"big endian":  {change("<f8", ">f8"), "other than one row of float64"},
		"two rows":    {change("(3,), ", "(3, 1)"), "other than one row of float64"},
		"fortran":     {change("False", "True "), "other than one row of float64"},
		"huge":        {change("(3,), }   ", "(99999999999999999999,), }"), "torn"},
		"NaN":         {npy(1, math.NaN()), "time point 1 is NaN"},
		"infinite":    {npy(1, math.Inf(1)), "time point 1 is +Inf"},
		"backwards":   {npy(5, 7, 6), "time point 2, 6 s, is before the one in front of it, 7 s"},
	} {
		_, err := points(c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzPoints(f *testing.F) {
	f.Add(npy())
	f.Add(npy(1000.25, 1000.5))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := points(b)
		if err != nil {
			return
		}
		if len(p)*8 > len(b) || !slices.IsSorted(p) {
			t.Fatalf("%d points of %d bytes: %v", len(p), len(b), p)
		}
	})
}
