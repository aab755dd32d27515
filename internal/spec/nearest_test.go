package spec

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"prompt", "Question", "title", "问题文本"}
	for key, want := range map[string]string{
		"question": "Question", " prompt ": "prompt", "promt": "prompt", "titel": "title", "问题文": "问题文本", "xyz": "", "": "",
	} {
		if got := Nearest(names, key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
