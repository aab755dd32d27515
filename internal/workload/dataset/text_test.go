package dataset

import "testing"

func TestText(t *testing.T) {
	f := mustOpen(t, write(t, "a.txt", "\xEF\xBB\xBFfirst, \"quoted\" <b>\r\n\n \t\n  indented \n{\"question\":1}"), Auto)
	for i, want := range []struct {
		fields string
		line   int
	}{
		{`{"question":"first, \"quoted\" <b>"}`, 1},
		{`{"question":"  indented "}`, 4},
		{`{"question":"{\"question\":1}"}`, 5},
	} {
		r, err := f.Row(int64(i))
		if err != nil || string(r.Fields) != want.fields || r.Line != want.line {
			t.Errorf("row %d: %s on line %d, %v", i, r.Fields, r.Line, err)
		}
	}
	refused(t, write(t, "a.txt", "a\nb\xff\n"), Auto, []string{"a.txt:2:2: byte 2 of the line (0xff) is not UTF-8"})
	refused(t, write(t, "a.txt", " \n\n"), Auto, []string{"no rows"})
}
