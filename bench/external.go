package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// external is another client, by the command line that starts it.
type external struct{ name, command string }

// placeholders are what a command line may hold.
var placeholders = []string{"{url}", "{streams}", "{requests}", "{events}", "{rate}"}

// parseExternal reads NAME='command line'.
func parseExternal(text string) (external, error) {
	name, command, ok := strings.Cut(text, "=")
	name, command = strings.TrimSpace(name), strings.TrimSpace(command)
	switch {
	case !ok || name == "" || command == "":
		return external{}, fmt.Errorf("-client %q: NAME='command line' is needed, such as -client mine='mine --url {url} -c {streams} -n {requests}'", text)
	case name == nameOurs || name == nameBare:
		return external{}, fmt.Errorf("-client %s: that name is taken", name)
	case !strings.Contains(command, "{url}"):
		return external{}, fmt.Errorf("-client %s: the command line has no {url}, so it would not reach the server; it may hold %s", name, strings.Join(placeholders, " "))
	}
	return external{name, command}, nil
}

// line is the command line of a load. {rate} is 0 in a closed loop.
func (e external) line(l load) string {
	return strings.NewReplacer("{url}", l.URL, "{streams}", strconv.FormatInt(max(l.Concurrency, 1), 10), "{requests}", strconv.FormatInt(l.Requests, 10),
		"{events}", strconv.Itoa(l.Events), "{rate}", strconv.FormatFloat(l.Rate, 'f', -1, 64)).Replace(e.command)
}

// runExternal sends the load by another program. What it did is what the server saw of
// it, what it cost what the kernel says of the whole process and its children: its start
// counts too.
func (t trial) runExternal(e external) (r result, err error) {
	r.Client = e.name
	srv, err := startServer(t.serve)
	if err != nil {
		return r, err
	}
	t.load.URL = srv.url + "/v1/chat/completions"
	cmd := exec.Command("sh", "-c", e.line(t.load))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	runErr := cmd.Run()
	if r.Served, err = srv.end(); err != nil {
		return r, err
	}
	if runErr != nil {
		return r, fmt.Errorf("%s: %w; it said: %s", e.name, runErr, lastBytes(said.Bytes(), 500))
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r.Sent = sent{OK: r.Served.Complete, CPU: u.Utime.Nano() + u.Stime.Nano(), RSS: u.Maxrss << 10}
	if r.Served.Complete != t.load.Requests && (!t.mayFail || r.Served.Complete == 0) {
		return r, fmt.Errorf("%s: %d of %d answers were read to their end; it said: %s", e.name, r.Served.Complete, t.load.Requests, lastBytes(said.Bytes(), 500))
	}
	return r, nil
}

func lastBytes(b []byte, n int) []byte { return bytes.TrimSpace(b[max(0, len(b)-n):]) }
