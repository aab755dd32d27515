package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// roleEnv makes a process one of the parts of a measurement.
const roleEnv = "TOKENTAPE_BENCH_ROLE"

// role is what a child process is to do.
type role struct {
	Serve   *serving  `json:"serve,omitempty"`
	Ours    *load     `json:"ours,omitempty"`
	Bare    *load     `json:"bare,omitempty"`
	Hog     bool      `json:"hog,omitempty"`
	Watch   bool      `json:"watch,omitempty"`
	Tape    *tapeWork `json:"tape,omitempty"`
	Nothing bool      `json:"nothing,omitempty"` // end at once
}

// play is main of a child process. It prints what it has to say as a line of JSON.
func play(text string, stdout io.Writer) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("%s: %w", roleEnv, err)
	}
	var out any
	var err error
	switch {
	case r.Serve != nil:
		by := serve
		if r.Serve.Engine {
			by = engine
		}
		out, err = by(*r.Serve, func(url string) { fmt.Fprintln(stdout, url) })
	case r.Ours != nil:
		out, err = ours(*r.Ours)
	case r.Bare != nil:
		out, err = bare(*r.Bare)
	case r.Tape != nil:
		out, err = r.Tape.do()
	case r.Hog:
		hog()
	case r.Watch:
		out = watch()
	case r.Nothing:
	default:
		err = errors.New(roleEnv + " names no role")
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(out)
}

// start starts this program again in a role.
func start(r role, env ...string) (*exec.Cmd, *bytes.Buffer, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), roleEnv+"="+string(text))
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr, nil
}

// ask runs a role to its end and reads what it says.
func ask(r role, out any, env ...string) error {
	cmd, stderr, err := start(r, env...)
	if err != nil {
		return err
	}
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return json.Unmarshal(text, out)
}

// process is a server in a process of its own.
type process struct {
	url    string
	cmd    *exec.Cmd
	in     io.Closer
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func startServer(s serving) (*process, error) {
	cmd, stderr, err := start(role{Serve: &s})
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out), stderr: stderr}
	url, err := p.out.ReadString('\n')
	if err != nil {
		p.in.Close()
		return nil, fmt.Errorf("the server did not start: %w\n%s", cmd.Wait(), bytes.TrimSpace(stderr.Bytes()))
	}
	p.url = strings.TrimSpace(url)
	return p, nil
}

// end ends the server and reads what it did.
func (p *process) end() (served, error) {
	p.in.Close()
	text, readErr := io.ReadAll(p.out)
	if err := p.cmd.Wait(); err != nil {
		return served{}, fmt.Errorf("the server failed: %w\n%s", err, bytes.TrimSpace(p.stderr.Bytes()))
	}
	var s served
	return s, errors.Join(readErr, json.Unmarshal(text, &s))
}
