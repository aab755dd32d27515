package tape

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An archive that holds no tape to read in place says why; the tape in one is read
// as it lies there.
func TestTapeInArchive(t *testing.T) {
	var lines strings.Builder
	w := NewWriter(&lines, false)
	must(t, w.Write(&Header{Run: "R", Spec: []byte(`{}`)}))
	must(t, w.Write(&Footer{Reason: ReasonCompleted}))
	must(t, w.Close())
	type member struct {
		name   string
		method uint16
	}
	for _, tc := range []struct {
		name, want string
		members    []member
		cut        int
	}{
		{"whole", "", []member{{"x", zip.Deflate}, {NamePlain, zip.Store}}, 0},
		{"no tape", "an archive without a tape", []member{{"x", zip.Store}}, 0},
		{"two", "two tapes", []member{{NamePlain, zip.Store}, {NameCompressed, zip.Store}}, 0},
		{"compressed once more", "compressed once more", []member{{NamePlain, zip.Deflate}}, 0},
		{"cut short", "cut short or broken", []member{{NamePlain, zip.Store}}, 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.zip")
			f, err := os.Create(path)
			must(t, err)
			z := zip.NewWriter(f)
			for _, m := range tc.members {
				in, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
				must(t, err)
				_, err = io.WriteString(in, lines.String())
				must(t, err)
			}
			must(t, z.Close())
			st, err := f.Stat()
			must(t, err)
			must(t, f.Truncate(st.Size()-int64(tc.cut)))
			must(t, f.Close())
			r, err := OpenFile(path)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tc.want) || (tc.name == "no tape") != errors.Is(err, ErrNotTape) {
					t.Fatalf("%v, want %q", err, tc.want)
				}
				return
			}
			must(t, err)
			defer r.Close()
			rec, err := r.Next()
			must(t, err)
			if h, ok := rec.(*Header); !ok || h.Run != "R" {
				t.Errorf("%+v", rec)
			}
			if !Packed(path) || Packed(filepath.Dir(path)) || Packed("nowhere") {
				t.Error("Packed")
			}
		})
	}
}
