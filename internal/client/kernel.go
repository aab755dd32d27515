package client

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"tokentape/internal/clock"
)

// Of linux/net_tstamp.h: stamps of received packets, made by the kernel's software.
const (
	stampReceived = 1 << 3
	stampSoftware = 1 << 4
)

// kernelConn is a connection whose reads also bring the kernel's stamp of the newest
// segment in them. It stands below TLS. What lay there before that segment waited
// longer: the kernel keeps one stamp where it joins segments, so that a wait is a
// lower bound.
type kernelConn struct {
	net.Conn
	raw    syscall.RawConn
	clock  *clock.Clock
	waited func(ns int64)

	// Of the read under way; net/http has one at a time.
	p   []byte
	oob [64]byte
	n   int
	got int // of oob
	err error
	do  func(fd uintptr) bool
}

// kernelStamped lets the kernel stamp what nc receives, where that was asked for, is
// this connection's turn and can be had.
func (c *Client) kernelStamped(nc net.Conn) net.Conn {
	if c.cfg.Waited == nil || c.cfg.HTTP2 || (c.dials.Add(1)-1)%max(c.cfg.WaitedOf, 1) != 0 {
		return nc
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok || strconv.IntSize != 64 { // in memory, or a unix socket, which has none; or a layout that stampOf does not know
		return nc
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nc
	}
	var refused error
	if err := raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPING, stampReceived|stampSoftware)
	}); err != nil || refused != nil {
		return nc
	}
	k := &kernelConn{Conn: nc, raw: raw, clock: c.cfg.Clock, waited: c.cfg.Waited}
	k.do = k.receive
	return k
}

// Read is net.Conn's, and tells how long the bytes waited.
func (k *kernelConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	k.p = p
	err := k.raw.Read(k.do)
	k.p = nil
	switch {
	case err != nil:
		if op, ok := err.(*net.OpError); ok {
			op.Op = "read"
		}
		return 0, err
	case k.err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: k.LocalAddr(), Addr: k.RemoteAddr(), Err: k.err}
	case k.n == 0:
		return 0, io.EOF
	}
	if at, ok := stampOf(k.oob[:k.got]); ok {
		if wait := k.clock.Since(at); wait >= 0 {
			k.waited(wait)
		}
	}
	return k.n, nil
}

// receive is one try of the system call; it reports false when there is nothing yet.
func (k *kernelConn) receive(fd uintptr) bool {
	for {
		k.n, k.got, _, _, k.err = syscall.Recvmsg(int(fd), k.p, k.oob[:], 0)
		if k.err != syscall.EINTR {
			break
		}
	}
	if k.err == syscall.EAGAIN {
		return false
	}
	if k.err != nil {
		k.n, k.err = 0, os.NewSyscallError("recvmsg", k.err)
	}
	return true
}

// stampOf is the first stamp of SCM_TIMESTAMPING among control messages, in ns of
// CLOCK_REALTIME: a struct of three timespecs, of which the first is software's.
func stampOf(oob []byte) (ns int64, ok bool) {
	head := syscall.CmsgLen(0)
	for len(oob) >= head {
		size := binary.NativeEndian.Uint64(oob)
		if size < uint64(head) || size > uint64(len(oob)) {
			return 0, false
		}
		level, kind := binary.NativeEndian.Uint32(oob[8:]), binary.NativeEndian.Uint32(oob[12:])
		data := oob[head:size]
		if level == syscall.SOL_SOCKET && kind == syscall.SCM_TIMESTAMPING && len(data) >= 16 {
			ns = int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
			return ns, ns > 0
		}
		oob = oob[min(len(oob), syscall.CmsgSpace(len(data))):]
	}
	return 0, false
}
