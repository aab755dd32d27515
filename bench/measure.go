package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tokentape/simserver"
)

// processCPU is the processor time of this process so far, user and system, in ns.
func processCPU() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // of this process: cannot fail
	return u.Utime.Nano() + u.Stime.Nano()
}

// peakRSS is the most memory that this process ever had resident, in bytes; 0 where the
// kernel does not say.
func peakRSS() int64 {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kb, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kb << 10
}

// stamps are what a client saw of one request, by the machine's CLOCK_MONOTONIC in ns.
type stamps struct {
	ID       string
	Released int64
	Events   []int64 // of its token events
}

func writeGob(path string, v any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(v), f.Close())
}

func readGob(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeTruths(path string, all []*simserver.Truth) error { return writeGob(path, all) }

func readTruths(path string) (map[string]*simserver.Truth, error) {
	var all []*simserver.Truth
	if err := readGob(path, &all); err != nil {
		return nil, err
	}
	by := make(map[string]*simserver.Truth, len(all))
	for _, x := range all {
		by[x.ID] = x
	}
	return by, nil
}
