package dataset

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	thrift "github.com/parquet-go/parquet-go/format"

	"tokentape/internal/spec"
)

// parquetFormat is Apache Parquet. Rows of a column store cannot be read one by
// one, so that they are written as JSON lines once: lists and structs nest, maps
// with text keys are objects, times are RFC 3339 text, bytes that are no UTF-8
// are base64, NaN and infinities are null.
var parquetFormat = format{
	extensions: []string{".parquet"},
	sniff:      func(head []byte) bool { return bytes.HasPrefix(head, []byte("PAR1")) },
	begin:      func() layout { return jsonLines{} },
	convert:    parquetLines,
}

func parquetLines(f *os.File, size int64, to io.Writer, watch func(share float64)) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, over a damaged file
			err = damaged(fmt.Sprint(p))
		}
	}()
	// The library believes the length of the footer, and makes room for it.
	var end [8]byte
	if _, err := f.ReadAt(end[:], max(size-8, 0)); err != nil || string(end[4:]) != "PAR1" ||
		int64(binary.LittleEndian.Uint32(end[:])) > size-8 {
		return damaged("its end is not that of a parquet file")
	}
	p, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return damaged(err.Error())
	}
	root := &node{}
	if err := root.build(p.Schema(), 0, 0); err != nil {
		return err
	}
	var line []byte
	columns := make([][]parquet.Value, root.columns)
	buf := make([]parquet.Row, 64)
	var done int64
	for _, group := range p.RowGroups() {
		rows := group.Rows()
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				row.Range(func(i int, values []parquet.Value) bool {
					columns[i] = values
					return true
				})
				line = append(root.object(line[:0], columns), '\n')
				if _, err := to.Write(line); err != nil {
					rows.Close()
					return spec.Issue{Message: fmt.Sprintf("its rows need room in a temporary file: %v", err), Hint: "set TMPDIR to a folder with room"}
				}
			}
			if done += int64(n); p.NumRows() > 0 {
				watch(float64(done) / float64(p.NumRows()))
			}
			if errors.Is(err, io.EOF) || err == nil && n == 0 {
				break
			}
			if err != nil {
				rows.Close()
				return damaged(err.Error())
			}
		}
		rows.Close()
	}
	return nil
}

func damaged(why string) error {
	return spec.Issue{Message: "the parquet file cannot be read: " + why, Hint: "is it whole? get it again, or convert it to JSON lines"}
}

// node is a place in the schema. Values carry levels: how many optional or
// repeated nodes on the way to them are there (definition), and at which of the
// repeated ones a new element begins (repetition).
type node struct {
	key                []byte // quoted, with a colon
	optional, repeated bool
	def, rep           int // levels at which the node is there, and repeats
	columns            int // leaves below
	fields             []*node
	list, pairs        bool // a list or a map: fields[0] repeats
	leaf               parquet.Type
}

func (n *node) build(from parquet.Node, def, rep int) error {
	n.optional, n.repeated = from.Optional(), from.Repeated()
	if n.optional || n.repeated {
		def++
	}
	if n.repeated {
		rep++
	}
	n.def, n.rep = def, rep
	if from.Leaf() {
		if d, ok := logical(from.Type()).(*thrift.DecimalType); ok && (d.Scale < 0 || d.Scale > 1000) {
			return damaged(fmt.Sprintf("a decimal has scale %d", d.Scale))
		}
		n.leaf, n.columns = from.Type(), 1
		return nil
	}
	for _, f := range from.Fields() {
		quoted, _ := json.Marshal(f.Name())
		child := &node{key: append(quoted, ':')}
		if err := child.build(f, def, rep); err != nil {
			return err
		}
		n.fields = append(n.fields, child)
		n.columns += child.columns
	}
	if n.columns == 0 {
		return damaged("a group has no columns")
	}
	kind := logical(from.Type())
	single := len(n.fields) == 1 && n.fields[0].repeated
	_, list := kind.(*thrift.ListType)
	n.list = single && list
	inner := n.fields[0]
	_, pairs := kind.(*thrift.MapType)
	n.pairs = single && pairs && len(inner.fields) == 2 && inner.fields[0].leaf != nil && text(inner.fields[0].leaf)
	if n.list && len(inner.fields) == 1 && string(inner.key) != `"array":` {
		inner.list = true // a wrapper of the element
	}
	return nil
}

// logical is what a type stands for; nil: itself.
func logical(t parquet.Type) thrift.LogicalTypeValue {
	if l := t.LogicalType(); l != nil {
		return l.Value
	}
	return nil
}

func text(t parquet.Type) bool { return t.Kind() == parquet.ByteArray }

// object is the row or struct whose leaves have these values.
func (n *node) object(b []byte, columns [][]parquet.Value) []byte {
	b = append(b, '{')
	for i, f := range n.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, f.key...)
		b = f.value(b, columns[:f.columns])
		columns = columns[f.columns:]
	}
	return append(b, '}')
}

func (n *node) value(b []byte, columns [][]parquet.Value) []byte {
	there := len(columns[0]) > 0 && columns[0][0].DefinitionLevel() >= n.def
	switch {
	case n.repeated:
		b = append(b, '[')
		if there {
			n.each(columns, func(i int, columns [][]parquet.Value) {
				if i > 0 {
					b = append(b, ',')
				}
				b = n.one(b, columns)
			})
		}
		return append(b, ']')
	case !there:
		return append(b, "null"...)
	}
	return n.one(b, columns)
}

// one is the value of a node that is there, of one element when it repeats.
func (n *node) one(b []byte, columns [][]parquet.Value) []byte {
	switch {
	case n.leaf != nil:
		return scalar(b, n.leaf, columns[0][0])
	case n.list:
		return n.fields[0].value(b, columns)
	case n.pairs:
		return n.mapped(b, columns)
	}
	return n.object(b, columns)
}

func (n *node) mapped(b []byte, columns [][]parquet.Value) []byte {
	pairs := n.fields[0]
	b = append(b, '{')
	if len(columns[0]) > 0 && columns[0][0].DefinitionLevel() >= pairs.def {
		pairs.each(columns, func(i int, columns [][]parquet.Value) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(pairs.fields[0].value(b, columns[:1]), ':')
			b = pairs.fields[1].value(b, columns[1:])
		})
	}
	return append(b, '}')
}

// each cuts the values of a repeated node into elements.
func (n *node) each(columns [][]parquet.Value, f func(i int, columns [][]parquet.Value)) {
	rest := append([][]parquet.Value(nil), columns...)
	part := make([][]parquet.Value, len(columns))
	for i := 0; len(rest[0]) > 0; i++ {
		for c, values := range rest {
			k := min(1, len(values))
			for k < len(values) && values[k].RepetitionLevel() > n.rep {
				k++
			}
			part[c], rest[c] = values[:k], values[k:]
		}
		f(i, part)
	}
}

func scalar(b []byte, t parquet.Type, v parquet.Value) []byte {
	kind := logical(t)
	number := func(i int64) []byte {
		if unit := legacyTime(t); kind == nil && unit != 0 {
			return appendTime(b, i, unit)
		}
		switch kind := kind.(type) {
		case *thrift.DecimalType:
			return decimal(b, strconv.FormatInt(i, 10), int(kind.Scale))
		case *thrift.DateType:
			return appendText(b, time.Unix(i*86400, 0).UTC().Format(time.DateOnly))
		case *thrift.TimestampType:
			unit := time.Microsecond
			switch kind.Unit.Value.(type) {
			case *thrift.MilliSeconds:
				unit = time.Millisecond
			case *thrift.NanoSeconds:
				unit = time.Nanosecond
			}
			return appendTime(b, i, unit)
		case *thrift.IntType:
			if !kind.IsSigned && t.Kind() == parquet.Int32 {
				return strconv.AppendUint(b, uint64(uint32(i)), 10)
			} else if !kind.IsSigned {
				return strconv.AppendUint(b, uint64(i), 10)
			}
		}
		return strconv.AppendInt(b, i, 10)
	}
	switch t.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(b, v.Boolean())
	case parquet.Int32:
		return number(int64(v.Int32()))
	case parquet.Int64:
		return number(v.Int64())
	case parquet.Float:
		return float(b, float64(v.Float()), 32)
	case parquet.Double:
		return float(b, v.Double(), 64)
	case parquet.Int96:
		// Nanoseconds of a day and its Julian number: what Spark and Impala wrote
		// before there were logical types.
		w := v.Int96()
		day := int64(w[2]) - 2440588 // 1970-01-01
		return appendText(b, time.Unix(day*86400, int64(w[1])<<32|int64(w[0])).UTC().Format(time.RFC3339Nano))
	}
	raw := v.ByteArray()
	switch kind := kind.(type) {
	case *thrift.DecimalType:
		n := new(big.Int).SetBytes(raw) // two's complement, big-endian
		if len(raw) > 0 && raw[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
		return decimal(b, n.String(), int(kind.Scale))
	case *thrift.JsonType:
		var c bytes.Buffer
		if json.Compact(&c, raw) == nil {
			return append(b, c.Bytes()...)
		}
	}
	if !utf8.Valid(raw) {
		return appendText(b, base64.StdEncoding.EncodeToString(raw))
	}
	return appendText(b, string(raw))
}

// legacyTime is the unit of a time that only the older converted type marks; 0:
// it is none.
func legacyTime(t parquet.Type) time.Duration {
	if c := t.ConvertedType(); c != nil {
		switch *c {
		case deprecated.TimestampMillis:
			return time.Millisecond
		case deprecated.TimestampMicros:
			return time.Microsecond
		}
	}
	return 0
}

// appendTime writes a count of units since 1970 as RFC 3339 text.
func appendTime(b []byte, i int64, unit time.Duration) []byte {
	per := int64(time.Second / unit)
	sec := i / per
	if i%per < 0 {
		sec--
	}
	return appendText(b, time.Unix(sec, (i-sec*per)*int64(unit)).UTC().Format(time.RFC3339Nano))
}

func float(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

// decimal is digits with the point scale digits from the right.
func decimal(b []byte, digits string, scale int) []byte {
	if digits[0] == '-' {
		b, digits = append(b, '-'), digits[1:]
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	b = append(b, digits[:len(digits)-scale]...)
	if scale > 0 {
		b = append(append(b, '.'), digits[len(digits)-scale:]...)
	}
	return b
}
