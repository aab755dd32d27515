package pyconf

import (
	"errors"
	"strings"
	"testing"
)

// FuzzSource: no text makes the rewriter or the evaluator panic, hang or fail
// without a place in the file.
func FuzzSource(f *testing.F) {
	for _, src := range []string{
		"import os\nmodels = [dict(a=os.environ.get('A', '1'), b=f\"x{1 + 1:>4}\")]\n",
		"from a import B\nx = [dict(type=B, n=n) for n in (1, 2)]\ny = {**x[0], 'k': 2 ** 3}\n",
		"with read_base():\n    from .a import *\n", "x = '''a\n{b}'''\n", "x = f'{a!r:{b}}'\n",
		"def f(a: int = 1) -> int:\n    return a\nx = f(2)\n", "if 1:\n\tx = 1\nelif 2:\n\tpass\nelse:\n  y = 1; z = 2\n",
		"x = [*a, b]\nx += [1]\nx[0] = y.z\ndel x[0]\n", "a = b = (1,)\nx: int = 3 if a is not None else 4\n",
		"x = 'a' 'b' % (1,)\nx = '%5.1f' % 2\n", "x = {1, 2} | {3}\nx = {i: j for i, j in []}\n",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		o := options()
		o.Steps = 10_000
		o.Tree = t.TempDir()
		_, err := Source(o.Tree+"/t.py", []byte(src), o)
		var own *Error
		if err == nil {
			return
		}
		if !errors.As(err, &own) {
			t.Fatalf("%T: %v", err, err)
		}
		if strings.Contains(own.Message, hookPrefix) {
			t.Fatalf("the message speaks of our own names: %v", err)
		}
		if own.Line > strings.Count(src, "\n")+1 {
			t.Fatalf("line %d of %d: %v", own.Line, strings.Count(src, "\n")+1, err)
		}
	})
}
