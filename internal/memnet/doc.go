// Package memnet is a network inside the process, for tests of time.
//
// In: bytes written on one end of a connection. Out: the same bytes on the other
// end, with no latency of its own. Everything that blocks here blocks durably in
// the sense of testing/synctest, so a real net/http client and server over it
// run in virtual time. It must never touch a socket, and nothing but tests and
// the self-check may stand on it.
package memnet
