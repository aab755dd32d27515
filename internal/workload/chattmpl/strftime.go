package chattmpl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"
)

// layouts of Go's time package for the directives of Python's strftime that
// templates use.
var layouts = map[string]string{
	"%Y": "2006", "%y": "06", "%m": "01", "%-m": "1", "%B": "January", "%b": "Jan", "%d": "02", "%-d": "2", "%e": "_2", "%A": "Monday", "%a": "Mon",
	"%j": "002", "%H": "15", "%I": "03", "%-I": "3", "%M": "04", "%S": "05", "%p": "PM", "%F": "2006-01-02", "%T": "15:04:05", "%D": "01/02/06",
}

// strftime is the strftime_now of templates: the fixed time, never the clock.
func (t *Template) strftime(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if t.now.IsZero() {
		return jinja.Undefined(), errors.New("the template writes today's date; fix one for counting")
	}
	if len(args) != 1 || !args[0].IsString() {
		return jinja.Undefined(), errors.New("strftime_now: want one format")
	}
	format := args[0].AsString()
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		n := 2
		if strings.HasPrefix(format[i:], "%-") {
			n = 3
		}
		directive := format[i:min(i+n, len(format))]
		if directive == "%%" {
			b.WriteByte('%')
		} else if l, ok := layouts[directive]; ok {
			b.WriteString(t.now.Format(l))
		} else {
			return jinja.Undefined(), fmt.Errorf("strftime_now: the directive %q is not supported", directive)
		}
		i += n - 1
	}
	return jinja.NewString(b.String()), nil
}
