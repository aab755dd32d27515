package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tokentape/internal/cli"
	"tokentape/simserver"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tokentape": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command line as its users do; one file a subject.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache")) // no envelope but the script's own
			vectors, err := filepath.Abs("../../internal/importer/aisbench/testdata/vectors")
			if err != nil {
				return err
			}
			e.Setenv("VECTORS", vectors) // results of AISBench's own
			e.Values[serverKey{}] = new(*simserver.Running)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"sim":     cmdSim,
			"seen":    cmdSeen,
			"page":    cmdPage,
			"exits":   cmdExits,
			"jsonget": cmdJSONGet,
			"rundir":  cmdRunDir,
			"waitfor": cmdWaitFor,
			"tear":    cmdTear,
		},
	})
}

// sim [JSON] starts a simulated server with options and sets URL to its address,
// and PREFILL and DECODE to those of its nodes.
func cmdSim(ts *testscript.TestScript, neg bool, args []string) {
	o := simserver.Defaults()
	if len(args) > 0 {
		ts.Check(json.Unmarshal([]byte(args[0]), &o))
	}
	srv, err := simserver.Listen("127.0.0.1:0", o)
	ts.Check(err)
	ts.Defer(func() { srv.Close() })
	*server(ts) = srv
	ts.Setenv("URL", srv.URL)
	ts.Setenv("HOSTPORT", strings.TrimPrefix(srv.URL, "http://"))
	ts.Setenv("HOST_PORT", srv.URL[strings.LastIndexByte(srv.URL, ':')+1:])
	for node, url := range srv.Nodes {
		ts.Setenv(strings.ToUpper(string(node)), url) // PREFILL and DECODE
	}
}

type serverKey struct{}

// server is the simulated server that the script started last.
func server(ts *testscript.TestScript) **simserver.Running {
	return ts.Value(serverKey{}).(**simserver.Running)
}

// seen PATH N: the simulated server got exactly N requests at PATH. Without
// arguments: it got nothing but the model list, what it says of itself and the two
// generation endpoints.
func cmdSeen(ts *testscript.TestScript, neg bool, args []string) {
	got := (*server(ts)).Seen()
	if len(args) == 0 {
		for path := range got {
			switch path {
			case "/v1/models", "/get_server_info", "/get_model_info", "/v1/chat/completions", "/v1/completions":
			default:
				ts.Fatalf("the server saw %d requests at %s", got[path], path)
			}
		}
		return
	}
	if want := args[1]; fmt.Sprint(got[args[0]]) != want {
		ts.Fatalf("the server saw %d requests at %s, not %s", got[args[0]], args[0], want)
	}
}

// waitfor GLOB BYTES: some file matches and has at least that many bytes.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range 200 {
		got, _ := filepath.Glob(ts.MkAbs(args[0]))
		for _, p := range got {
			if st, err := os.Stat(p); err == nil && st.Size() >= int64(want) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no %s with %d bytes after 10 s", args[0], want)
}

// tear FROM TO N copies all but the last N bytes.
func cmdTear(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	b := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b[:len(b)-n]), 0o644))
}

// page STATUS TYPE BODY starts a server that answers everything so.
func cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", args[1])
		w.WriteHeader(status)
		w.Write([]byte(args[2]))
	}))
	ts.Defer(srv.Close)
	ts.Setenv("URL", srv.URL)
}

// exits CODE COMMAND ARGS…: the command ends with that exit code. "0|5" is for a
// run whose load is worked off as it should be: whether it is fit for use depends
// on how busy the machine of the test is.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		var ok bool
		s := err.Error() // "exit status N", also wrapped
		if code, ok = exitCode(s); !ok {
			ts.Fatalf("%v", err)
		}
	}
	if !slices.Contains(strings.Split(args[0], "|"), fmt.Sprint(code)) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func exitCode(s string) (int, bool) {
	i := strings.LastIndex(s, "exit status ")
	if i < 0 {
		return 0, false
	}
	code, err := strconv.Atoi(s[i+len("exit status "):])
	return code, err == nil
}

// rundir GLOB sets RUN to the only folder that matches.
func cmdRunDir(ts *testscript.TestScript, neg bool, args []string) {
	got, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(got) != 1 {
		ts.Fatalf("%s matches %d folders: %v", args[0], len(got), got)
	}
	ts.Setenv("RUN", got[0])
}

// jsonget FILE PATH VALUE: the value at a dotted path (numbers index lists,
// kind=X picks a window) is VALUE. VALUE null matches null; a leading < or >
// compares numbers.
func cmdJSONGet(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, key := range strings.Split(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[key]; !ok {
				ts.Fatalf("%s: no %q in %s", args[0], key, args[1])
			}
		case []any:
			v = pick(ts, x, key)
		default:
			ts.Fatalf("%s: %q of %s is %T", args[0], key, args[1], v)
		}
	}
	got := fmt.Sprint(v)
	if v == nil {
		got = "null"
	}
	want, ok := args[2], false
	switch {
	case strings.HasPrefix(want, "<") || strings.HasPrefix(want, ">"):
		g, isNum := v.(float64)
		w, err := strconv.ParseFloat(want[1:], 64)
		ts.Check(err)
		ok = isNum && (want[0] == '<' && g < w || want[0] == '>' && g > w)
	default:
		ok = got == want
	}
	if ok == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, want)
	}
}

func pick(ts *testscript.TestScript, list []any, key string) any {
	if name, value, ok := strings.Cut(key, "="); ok {
		for _, e := range list {
			if m, _ := e.(map[string]any); fmt.Sprint(m[name]) == value {
				return e
			}
		}
		ts.Fatalf("no element with %s", key)
	}
	i, err := strconv.Atoi(key)
	ts.Check(err)
	if i >= len(list) {
		ts.Fatalf("the list has %d elements, not %s", len(list), key)
	}
	return list[i]
}
