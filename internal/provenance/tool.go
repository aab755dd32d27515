package provenance

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"tokentape/tape"
)

// Tool is the program that runs, as the build wrote it down; version is its release.
func Tool(version string) tape.Tool {
	t := tape.Tool{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if path, err := os.Executable(); err == nil {
		if i, err := os.Stat(path); err == nil {
			t.Built = i.ModTime().UTC().Format(time.RFC3339)
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	t.Sum = info.Main.Sum
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.VCS = s.Value
		case "vcs.time":
			t.VCSTime = s.Value
		case "vcs.modified":
			t.Modified = tape.Some(s.Value == "true")
		}
	}
	return t
}
