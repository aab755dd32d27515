package pyconf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// show writes a value in the way of Python.
func show(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(fmt.Sprint(v)[:1]) + fmt.Sprint(v)[1:]
	case string:
		return pyQuote(v)
	case float64:
		return pyFloat(v)
	case Symbol:
		return "<" + string(v) + ">"
	case []Value:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Dict:
		var parts []string
		for _, f := range v.Fields {
			parts = append(parts, f.Name+": "+show(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

var env = map[string]string{"SET": "yes", "N": "12", "EMPTY": "", "KEY": "sk-secret"}

func options() Options {
	return Options{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

// TestValues has some lines of Python each, and what x then is. All but keys read as
// attributes (of mmengine) and made-up modules were checked
// against CPython 3.
func TestValues(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = 1 + 2 * 3", "7"},
		{"x = 7 // 2, 7 % 3, -7 // 2, 7 / 2", "[3, 1, -4, 3.5]"},
		{"x = 2 ** 10", "1024"},
		{"x = -2 ** 2", "-4"},
		{"x = 2 ** -1", "0.5"},
		{"x = 2 ** 3 ** 2", "512"},
		{"n = [3]\nx = n[0] ** 2 + 1", "10"},
		{"x = 1_000_000", "1000000"},
		{"x = 0x10 + 0o17 + 0b11", "34"},
		{"x = 1e3, .5, 1., 1_0.5", "[1000.0, 0.5, 1.0, 10.5]"},
		{"x = 'a' \"b\" '''c'''", "'abc'"},
		{"x = ('one '\n     'two')", "'one two'"},
		{`x = r'\d' '\d' '\x41\u00e9\n'`, `'\\d\\dAé\n'`},
		{"x = '''a\nb\\\nc'''", `'a\nbc'`},
		{"x = u'中文'[1] + '中文'[-2:]", "'文中文'"},
		{"x = len('中文')", "2"},
		{"n = 16384\nx = f'k{n // 1024}k {n:,} {n:>8d}|{n:<8}|{n:^9}|{n:08.2f}'", "'k16k 16,384    16384|16384   |  16384  |16384.00'"},
		{"v = 'a'\nx = f'{v!r} {v:>{3}} {{}} {v=}'", `"'a'   a {} v='a'"`},
		{"x = f'{3.14159:.2f} {0.5:%} {1234.5:,.1f} {5:+d} {255:#x} {1e10:g} {12:e}'", "'3.14 50.000000% 1,234.5 +5 0xff 1e+10 1.200000e+01'"},
		{"d = dict(a=1)\nx = f\"{d['a']}-{ {'b': 2}['b'] }\"", "'1-2'"},
		{"x = f'{1 if True else 2}'", "'1'"},
		{"x = 'a' 'b' f'{1}' 'c'", "'ab1c'"},
		{"x = '%s-%03d-%.2f-%5s|%-5s|%%' % ('a', 7, 1.5, 'r', 'l')", "'a-007-1.50-    r|l    |%'"},
		{"x = '%(a)s' % dict(a=1)", "'1'"},
		{"x = '{0}-{b}-{0}'.format(1, b=2)", "'1-2-1'"},
		{"x = '{:>5}|{:05.1f}'.format('a', 2.25)", "'    a|002.2'"},
		{"x = [i * i for i in range(5) if i % 2]", "[1, 9]"},
		{"x = [(a, b) for a in [1, 2] for b in 'xy'[0:1].split()]", "[[1, 'x'], [2, 'x']]"},
		{"x = {k: v for k, v in zip(['a', 'b'], range(2))}", "{a: 0, b: 1}"},
		{"x = sorted({3, 1, 2})", "[1, 2, 3]"},
		{"x = sum(i for i in range(4))", "6"},
		{"x = sum(([i] for i in range(3)), [])", "[0, 1, 2]"},
		{"x = list(i for i in [1, 2])", "[1, 2]"},
		{"a = [1]\nx = [*a, 2, *[3]]", "[1, 2, 3]"},
		{"a = dict(p=1)\nx = {**a, 'q': 2, **dict(p=3)}", "{p: 3, q: 2}"},
		{"a = dict(p=1)\nx = dict(a, q=2)", "{p: 1, q: 2}"},
		{"a = dict(p=1)\nx = dict(q=2, **a)", "{q: 2, p: 1}"},
		{"x = dict([('a', 1)], b=2)", "{a: 1, b: 2}"},
		{"x = {'a': 1, 'a': 2}", "{a: 2}"},
		{"x = {'a': 1} | {'b': 2}", "{a: 1, b: 2}"},
		{"x = [1]\nx += [2]\nx.append(3)\nx.extend((4, 5))", "[1, 2, 3, 4, 5]"},
		{"x = [3, 1, 2]\nx.sort(reverse=True)", "[3, 2, 1]"},
		{"x = dict(a=1)\nx['b'] = 2\nx['a'] += 5\nx.update(c=3)\ndel x['b']", "{a: 6, c: 3}"},
		{"x = dict(a=dict(b=1))\nx.a.b = 4", "{a: {b: 4}}"},
		{"import copy\na = dict(l=[1])\nx = copy.deepcopy(a)\na['l'].append(2)", "{l: [1]}"},
		{"from copy import deepcopy as dc\nx = dc([1])", "[1]"},
		{"import os\nx = os.environ['SET'], os.getenv('NO'), os.getenv('NO', 'd'), os.environ.get('EMPTY', 'd'), 'SET' in os.environ", "['yes', None, 'd', '', True]"},
		{"from os import environ, getenv\nx = environ['SET'] + getenv('N')", "'yes12'"},
		{"import os.path as p\nx = p.join('a', 'b', 'c.py')", "'a/b/c.py'"},
		{"import os\nx = os.path.basename('/a/b.jsonl').split('.')[0]", "'b'"},
		{"x = int('12') + int(3.9) + int(float('1e2'))", "115"},
		{"x = None is None, 1 is not None, not 1 in [1]", "[True, True, False]"},
		{"x = 'a' if 1 > 2 else 'b'", "'b'"},
		{"x: int = 5\ny: str", "5"},
		{"a = b = 3\nx = a + b", "6"},
		{"a, b = 1, 2\nx = b - a", "1"},
		{"x = 1,", "[1]"},
		{"def f(n: int, *, k: str = 'a') -> dict:\n    return dict(n=n, k=k)\nx = f(1, k='b')", "{n: 1, k: b}"},
		{"x = []\nfor i in range(3):\n    if i == 1:\n        continue\n    x.append(i)", "[0, 2]"},
		{"x = 0\nwhile x < 5:\n    x += 2", "6"},
		{"if __name__ == '__main__':\n    x = 1\nelse:\n    x = 2", "2"},
		{"from a.b import C\nimport d.e as f, g\nx = C, f.G, g.h", "[<a.b.C>, <d.e.G>, <g.h>]"},
		{"a_datasets = [1]\nb_datasets = [2]\nx = sum([v for k, v in locals().items() if k.endswith('_datasets')], [])", "[1, 2]"},
		{"x = dict[str, list[str] | str](a=['b'])", "{a: ['b']}"},
		{"x = isinstance(1, int), isinstance('a', (list, str)), isinstance({}, dict)", "[True, True, True]"},
		{"x = round(2.5), round(2.675, 2), max(1, 2), min([3, 1]), abs(-1)", "[2, 2.67, 2, 1, 1]"},
		{"x = str(1e-05), str(0.1), str(1e16), str(None), str([1, 'a']), repr('q')", `['1e-05', '0.1', '1e+16', 'None', "[1, 'a']", "'q'"]`},
		{"load = 1\nx = dict(load=load)", "{load: 1}"},
		{"import math\nx = math.ceil(1.2) + math.floor(math.pi)", "5"},
		{"x = ', '.join(str(i) for i in [1, 2])", "'1, 2'"},
		{"x = 'a-b'.replace('-', '_').upper().zfill(5)", "'00A_B'"},
		{"x = True + 1", "2"},
		{"x = [1, 2, 3][::-1], 'abc'[::-1]", "[[3, 2, 1], 'cba']"},
		{"x = 1 if not [] else 2; y = 3", "1"},
		{"from itertools import product\nx = [f'{a}{b}' for a, b in product([1, 2], 'x'.split())]", "['1x', '2x']"},
		{"assert 1 == 1, 'no'\nx = 1", "1"},
		{"x = [\n  1,  # one\n\n  2,\n]  # end", "[1, 2]"},
		{"if 1:\n\tx = 1\n\tx += 1", "2"},
		{"x = 1 + \\\n  2", "3"},
	} {
		r, err := Source("t.py", []byte(c.src), options())
		if err != nil {
			t.Errorf("%s\n\t%v", c.src, err)
			continue
		}
		f, _ := r.Names.Get("x")
		if got := show(f.Value); got != c.want {
			// show writes fields of dicts without quotes where c.want does.
			if strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(c.want, "'", "") || !strings.Contains(got, "{") {
				t.Errorf("%s\n\tgot  %s\n\twant %s", c.src, got, c.want)
			}
		}
	}
}

// TestRefusals: what cannot be evaluated says where, and what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = 1\ny = (", "t.py:2:6: the file ends inside an open bracket; close it"},
		{"x = )", "t.py:1:5: the bracket ) closes nothing that is open"},
		{"x = (1]", "t.py:1:7: the bracket ] closes nothing that is open"},
		{"x = 'abc\ny = 1", "t.py:1:5: the string is not closed on its line; close it, or use three quotes for a text of several lines"},
		{"x = '''abc\n\n", "t.py:1:5: the string is not closed before the end of the file; close it"},
		{"x = 1 +", "t.py:1:7: got newline, want primary expression; a comma, a bracket or a colon may be missing before it"},
		{"models = [\n    dict(\n        a=1\n        b=2,\n    )\n]", "t.py:4:9: got identifier, want ','; a comma, a bracket or a colon may be missing before it"},
		{"x = $", "t.py:1:5: the character '$' has no meaning here"},
		{"if 1:\nx = 1", "t.py:2:1: got identifier, want indent; a comma, a bracket or a colon may be missing before it"},
		{"if 1:\n    x = 1\n  y = 2", "t.py:3:3: the indent of this line is that of no block around it"},
		{"x = 1\ny = nope + x", "t.py:2:5: the name nope is not known; assign it or import it above; not every function of Python is known here"},
		{"import os\nx = [\n os.environ['NOPE']]", "t.py:3:2: the environment variable NOPE is not set, and the config gives no default; --env NOPE=VALUE, or export it"},
		{"import os\nx = os.system('rm -rf /')", "t.py:2:5: os.system(…) would run or end a program, and nothing is executed here; write its result into the config, or pass it with --env NAME=VALUE"},
		{"import subprocess as s\nx = s.check_output(['ls'])", "t.py:2:5: subprocess.check_output(…) would run or end a program, and nothing is executed here; write its result into the config, or pass it with --env NAME=VALUE"},
		{"x = open('/etc/passwd').read()", "t.py:1:5: open(…) would read or write files, and nothing is executed here; only configs of the same tree are read: write the values out, or pass them with --env NAME=VALUE"},
		{"import json\nx = json.load(open('x'))", "t.py:2:15: open(…) would read or write files, and nothing is executed here; only configs of the same tree are read: write the values out, or pass them with --env NAME=VALUE"},
		{"exec('x = 1')", "t.py:1:1: exec(…) would run code that is made on the spot, and nothing is executed here; write the code out"},
		{"x = __import__('os').system('ls')", "t.py:1:5: __import__(…) would run code that is made on the spot, and nothing is executed here; write the code out"},
		{"from urllib.request import urlopen\nx = urlopen('http://h')", "t.py:2:5: urllib.request.urlopen(…) would open a connection, and nothing is executed here; write its result into the config, or pass it with --env NAME=VALUE"},
		{"import random\nx = random.random()", "t.py:2:5: random.random(…) gives another value each time, and nothing is executed here; write the value out, or pass it with --env NAME=VALUE"},
		{"from mylib import f\nx = f()", "t.py:2:5: mylib.f(…) is imported, and imported code is not run here: only its name is known; write the value out, or pass it with --env NAME=VALUE"},
		{"x = [i for i in range(10**9)]", "t.py:1:8: the evaluation was stopped here after 100000 steps: the config does not come to an end; make the loop or the comprehension smaller; a config only says what to run"},
		{"while True:\n    pass", "t.py:1:1: the evaluation was stopped here after 100000 steps: the config does not come to an end; make the loop or the comprehension smaller; a config only says what to run"},
		{"x = 'a' * 10**9", "t.py:1:9: the config makes more than 128 MB of values; that is data: put it into a dataset file"},
		{"x = [0] * 10**9", "t.py:1:9: the config makes more than 128 MB of values; that is data: put it into a dataset file"},
		{"x = list(range(10**12))", "t.py:1:5: the config makes more than 128 MB of values; that is data: put it into a dataset file"},
		{"x = 'ab'\nfor i in range(40):\n    x += x", "t.py:3:7: the config makes more than 128 MB of values; that is data: put it into a dataset file"},
		{"x = 10 ** 10 ** 10", "t.py:1:8: 10 ** 10000000000 is too large"},
		{"x = [1]\nfor i in range(60):\n    x = [x, x]", "t.py:1:1: x: more than 2000000 values, or lists within lists without end"},
		{"x = (1,)\nfor i in range(60):\n    x = (x, x)\ny = {x: 1}", "t.py:4:5: tuples within tuples without end"},
		{"def f(n):\n    return f(n)\nx = f(1)", "t.py:2:12: function f called recursively; write a loop"},
		{"x = lambda: 1", "t.py:1:5: lambda is not evaluated here; write the value out"},
		{"class A:\n    pass", "t.py:1:1: class is not evaluated here: a config is values; write the values out, or import a spec of your own"},
		{"try:\n    x = 1\nexcept:\n    pass", "t.py:1:1: try is not evaluated here: a config is values; write the values out, or import a spec of your own"},
		{"with open('f') as f:\n    x = 1", "t.py:1:1: with is not evaluated here; with read_base(): is the one that is; write the values out"},
		{"x = 1 < 2 < 3", "t.py:1:11: comparisons in a row are not evaluated here; write a < b and b < c"},
		{"x = dict(a=1)['b']", "t.py:1:5: the dict has no key 'b'; its keys: a"},
		{"x = 1 / 0", "t.py:1:7: floating-point division by zero"},
		{"x = 'a' + 1", "t.py:1:9: unknown binary op: string + int"},
		{"import os\nraise ValueError(os.environ['KEY'])", "t.py:2:1: the config raises ValueError: ***"},
		{"import os\nx = float(os.environ['KEY'])", "t.py:2:5: float: the text is not a number; give it another value, with --env NAME=VALUE where it comes from the environment"},
		{"import os\nx = dict(a=1)[os.environ['KEY']]", "t.py:2:5: the dict has no key '***'; its keys: a"},
		{"x = int('sk-secret')", "t.py:1:5: int: the text is not a whole number; give it another value, with --env NAME=VALUE where it comes from the environment"},
		{"x = f'{'", "t.py:1:8: no expression between the braces of an f-string"},
		{"x = f'{1:q}'", `t.py:1:8: the format "q" is not understood`},
		{"x = b'a'", "t.py:1:5: bytes have no place in a config; write text, without the b"},
		{"assert 1 > 2, 'too few'", "t.py:1:1: an assertion of the config does not hold: too few"},
		{"raise ValueError('no')", "t.py:1:1: the config raises ValueError: no"},
		{"with read_base():\n    from .gone import x", "t.py:2:5: cannot read gone.py: no such file or directory"},
		{"from ..up import x", "t.py:1:1: ../up.py lies outside ., and is not read; name a folder that holds both with --config-dir"},
		{"with read_base():\n    from a.b import x", "t.py:2:5: the config a.b is not at hand; name the folder that holds it with --config-dir, or copy it beside this file and import it as .b"},
		{"x = \"" + "\xff" + "\"", "t.py:1:1: the file is not UTF-8; save the file as UTF-8"},
		{"x = 1\x00", "t.py:1:1: a zero byte: this is not a text file"},
		{"x = " + strings.Repeat("(", 101), "t.py:1:105: more than 100 brackets within each other"},
		{"x = 1" + strings.Repeat(" + 1", 1001), "t.py:1:4003: an expression of more than 1000 operators; put parts of it into variables"},
		{"y = 1\n\n\n# c\nx = [ 'a',\n  f'{y}' + 中 ]", "t.py:6:12: the name 中 is not known; assign it or import it above; not every function of Python is known here"},
		{"x = f'''\n{nope}'''", "t.py:2:2: the name nope is not known; assign it or import it above; not every function of Python is known here"},
	} {
		o := options()
		if strings.Contains(c.want, "100000") {
			o.Steps = 100_000
		}
		_, err := Source("t.py", []byte(c.src), o)
		if got := fmt.Sprint(err); got != c.want {
			short := c.src[:min(len(c.src), 100)]
			t.Errorf("%s\n\tgot  %s\n\twant %s", short, got, c.want)
		}
	}
}

// TestPlaces: each field knows where it got its value, through copies and loops.
func TestPlaces(t *testing.T) {
	src := `import os
import copy
base = dict(
    batch_size=1,
    key=os.environ["KEY"],
    name=f"a{os.environ['SET']}",
    n=int(os.environ.get("N", "1")),
    both=os.getenv("SET") + os.getenv("N"),
)
models = [
    dict(base, batch_size=n,
         rate=2)
    for n in [1]
]
models[0]["rate"] = 3
other = copy.deepcopy(models[0])
other.update(
    batch_size=9)
models.append(other)
models += [{
    "x": 1, **base}]
`
	r, err := Source("t.py", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	f, _ := r.Names.Get("models")
	models := f.Value.([]Value)
	for _, c := range []struct {
		model       int
		name, place string
		env         string
		alone       bool
	}{
		{0, "batch_size", "t.py:11", "[]", false},
		{0, "key", "t.py:5", "[KEY]", true},
		{0, "name", "t.py:6", "[SET]", false},
		{0, "n", "t.py:7", "[N]", false},
		{0, "both", "t.py:8", "[SET N]", false},
		{0, "rate", "t.py:15", "[]", false},
		{1, "rate", "t.py:15", "[]", false},
		{1, "batch_size", "t.py:18", "[]", false},
		{1, "key", "t.py:5", "[KEY]", true},
		{2, "x", "t.py:21", "[]", false},
		{2, "key", "t.py:5", "[KEY]", true},
	} {
		f, ok := models[c.model].(*Dict).Get(c.name)
		if !ok || f.At.String() != c.place || fmt.Sprint(f.Env) != c.env || f.Alone != c.alone {
			t.Errorf("models[%d].%s: %v at %v, env %v, alone %v; want %+v", c.model, c.name, ok, f.At, f.Env, f.Alone, c)
		}
	}
	if len(r.Reads) != 3 || !r.Reads[0].Set {
		t.Errorf("reads: %+v", r.Reads)
	}
}

// TestIncludes: read_base reads files of the tree, and copies what they hold.
func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{
		"main.py":        "from mmengine.config import read_base\nwith read_base():\n    from .sub.models import models as m, host\n    from .data import *\nmodels = m + [dict(m[0], abbr='two')]\nmodels[0]['abbr'] = 'one'\ndatasets = rows_datasets\n",
		"sub/models.py":  "from ..data import port\nhost = '::1'\nmodels = [dict(abbr='zero', host_port=port)]\n",
		"data.py":        "port = 8000\n_hidden = 1\nrows_datasets = [dict(abbr='rows')]\n",
		"loop.py":        "from .loop2 import x\n",
		"loop2.py":       "from .loop import x\n",
		"names.py":       "from .data import nope\n",
		"bad.py":         "from .sub.broken import x\n",
		"sub/broken.py":  "y = 1\nx = [y\n",
		"sub/models2.py": "x = 1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "out.py")
	if err := os.WriteFile(outside, []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.py")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "linked.py"), []byte("from .link import x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := File(filepath.Join(dir, "main.py"), options())
	if err != nil {
		t.Fatal(err)
	}
	f, _ := r.Names.Get("models")
	if got := show(f.Value); got != "[{abbr: 'one', host_port: 8000}, {abbr: 'two', host_port: 8000}]" {
		t.Error(got)
	}
	at, _ := f.Value.([]Value)[1].(*Dict).Get("host_port")
	if want := filepath.Join(dir, "sub/models.py") + ":3"; at.At.String() != want {
		t.Errorf("host_port at %v, want %s", at.At, want)
	}
	if len(r.Files) < 3 || r.Files[0] != filepath.Join(dir, "main.py") {
		t.Errorf("files: %v", r.Files)
	}
	for name, want := range map[string]string{
		"loop.py":   "the file includes itself",
		"names.py":  "names.py:1:19: .data has no nope; its names: port, _hidden, rows_datasets",
		"bad.py":    "broken.py:3:1: the file ends inside an open bracket",
		"linked.py": "lies outside",
		"gone.py":   "gone.py: cannot read",
	} {
		_, err := File(filepath.Join(dir, name), options())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestLarge: a config of 10 MB is read; one byte more is not.
func TestLarge(t *testing.T) {
	src, n := large(600)
	r, err := Source("big.py", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	f, _ := r.Names.Get("x")
	if got := f.Value.([]Value); len(got) != n || got[n-1].(*Dict).Fields[1].At.Line != n+1 {
		t.Errorf("%d values of %d", len(got), n)
	}
	src += strings.Repeat("#", maxBytes+1-len(src))
	if _, err := Source("big.py", []byte(src), options()); err == nil || !strings.Contains(err.Error(), "larger than 512 KiB") {
		t.Error(err)
	}
}

// large is a config of nearly maxBytes, a list of n dicts with a text of so many
// characters each.
func large(chars int) (src string, n int) {
	var b strings.Builder
	b.WriteString("x = [\n")
	text := strings.Repeat("q", chars)
	for ; b.Len() < maxBytes-2*chars-200; n++ {
		fmt.Fprintf(&b, "    dict(question='%s', n=%07d),\n", text, n)
	}
	b.WriteString("]\n")
	return b.String(), n
}

// BenchmarkLarge reads maxBytes of small dicts, the worst that a config can be.
func BenchmarkLarge(b *testing.B) {
	src, n := large(30)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := Source("big.py", []byte(src), options()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n), "dicts")
}
