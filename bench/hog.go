package main

import (
	"io"
	"os"
	"os/exec"
	"sync/atomic"
)

// hog takes all of one core until standard input ends.
func hog() {
	var end atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent, too
		end.Store(true)
	}()
	for !end.Load() {
	}
}

// hogs starts n of them; stop ends them.
func hogs(n int) (stop func(), err error) {
	var all []*exec.Cmd
	var pipes []io.Closer
	stop = func() {
		for _, p := range pipes {
			p.Close()
		}
		for _, c := range all {
			_ = c.Wait() // it has nothing to say
		}
	}
	for range n {
		cmd, _, err := start(role{Hog: true})
		var in io.Closer
		if err == nil {
			in, err = cmd.StdinPipe()
		}
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		all, pipes = append(all, cmd), append(pipes, in)
	}
	return stop, nil
}
