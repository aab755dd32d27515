package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// node is a JSON value with its path. The first complaint about any node of a
// document is kept in fail; reading goes on with zero values.
type node struct {
	v    *fastjson.Value // nil: not there
	path string
	fail *error
}

func parseJSON(data []byte) (node, error) {
	if len(data) >= 3 && string(data[:3]) == "\uFEFF" {
		data = data[3:]
	}
	if !utf8.Valid(data) {
		return node{}, errors.New("the file is not UTF-8")
	}
	if err := fastjson.ValidateBytes(data); err != nil {
		return node{}, fmt.Errorf("not JSON: %s", short(err.Error()))
	}
	v, err := fastjson.ParseBytes(data)
	if err != nil {
		return node{}, fmt.Errorf("not JSON: %s", short(err.Error()))
	}
	n := node{v: v, fail: new(error)}
	if v.Type() != fastjson.TypeObject {
		return node{}, fmt.Errorf("a JSON %s, not an object", v.Type())
	}
	return n, nil
}

func short(s string) string {
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}

func (n node) errorf(format string, args ...any) {
	if *n.fail == nil {
		*n.fail = fmt.Errorf("%s: %s", n.path, short(fmt.Sprintf(format, args...)))
	}
}

// has: the value is there and not null.
func (n node) has() bool { return n.v != nil && n.v.Type() != fastjson.TypeNull }

func (n node) get(key string) node {
	out := node{path: key, fail: n.fail}
	if n.path != "" {
		out.path = n.path + "." + key
	}
	if n.v != nil && n.v.Type() == fastjson.TypeObject {
		out.v = n.v.Get(key)
	}
	return out
}

func (n node) list() []node {
	if !n.has() {
		return nil
	}
	if n.v.Type() != fastjson.TypeArray {
		n.errorf("must be a list, not a %s", n.v.Type())
		return nil
	}
	vs := n.v.GetArray()
	out := make([]node, len(vs))
	for i, v := range vs {
		out[i] = node{v: v, path: n.path + "[" + strconv.Itoa(i) + "]", fail: n.fail}
	}
	return out
}

// each visits the members of an object in order.
func (n node) each(f func(key string, v node)) {
	if !n.has() {
		return
	}
	if n.v.Type() != fastjson.TypeObject {
		n.errorf("must be an object, not a %s", n.v.Type())
		return
	}
	n.v.GetObject().Visit(func(k []byte, v *fastjson.Value) {
		f(string(k), node{v: v, path: n.path + "." + string(k), fail: n.fail})
	})
}

// text is a string that must be there.
func (n node) text() string {
	if n.v == nil || n.v.Type() != fastjson.TypeString {
		n.wrong("a string")
		return ""
	}
	return string(n.v.GetStringBytes())
}

// textOr is a string that may be missing or null.
func (n node) textOr(def string) string {
	if !n.has() {
		return def
	}
	return n.text()
}

func (n node) boolOr(def bool) bool {
	if !n.has() {
		return def
	}
	switch n.v.Type() {
	case fastjson.TypeTrue:
		return true
	case fastjson.TypeFalse:
		return false
	}
	n.wrong("true or false")
	return def
}

// number is an integer from 0 to max that must be there.
func (n node) number(max int64) int64 {
	if n.v != nil && n.v.Type() == fastjson.TypeNumber {
		if x, err := n.v.Int64(); err == nil && x >= 0 && x <= max {
			return x
		}
	}
	n.wrong(fmt.Sprintf("an integer from 0 to %d", max))
	return 0
}

func (n node) float() float64 {
	if n.v != nil && n.v.Type() == fastjson.TypeNumber {
		if x, err := n.v.Float64(); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	}
	n.wrong("a number")
	return 0
}

func (n node) wrong(want string) {
	if n.v == nil {
		n.errorf("is missing; it must be %s", want)
		return
	}
	n.errorf("must be %s, not %s", want, short(string(n.v.MarshalTo(nil))))
}

// maxID is the largest token id: ids are int32 throughout, and nobody has a
// vocabulary of 2^28.
const maxID = 1 << 28

// config is what tokenizer_config.json says beyond the tokenizer's own file.
type config struct {
	addBOS, addEOS *bool
	bos, eos       string
	class          string
	pattern        string
	added          []addedToken // in order of ids
}

func parseConfig(data []byte) (*config, error) {
	n, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &config{class: n.get("tokenizer_class").textOr("")}
	flag := func(key string) *bool {
		if v := n.get(key); v.has() {
			b := v.boolOr(false)
			return &b
		}
		return nil
	}
	c.addBOS, c.addEOS = flag("add_bos_token"), flag("add_eos_token")
	token := func(key string) string {
		v := n.get(key)
		if v.has() && v.v.Type() == fastjson.TypeObject {
			v = v.get("content")
		}
		return v.textOr("")
	}
	c.bos, c.eos = token("bos_token"), token("eos_token")
	for _, key := range []string{"pat_str", "pattern"} {
		if c.pattern == "" {
			c.pattern = n.get(key).textOr("")
		}
	}
	n.get("added_tokens_decoder").each(func(key string, v node) {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 || id > maxID {
			v.errorf("the key must be a token id")
			return
		}
		c.added = append(c.added, readAdded(v, int32(id)))
	})
	return c, *n.fail
}

func readAdded(v node, id int32) addedToken {
	special := v.get("special").boolOr(false)
	return addedToken{
		id: id, content: v.get("content").text(), special: special,
		singleWord: v.get("single_word").boolOr(false),
		lstrip:     v.get("lstrip").boolOr(false), rstrip: v.get("rstrip").boolOr(false),
		normalized: v.get("normalized").boolOr(!special),
	}
}
