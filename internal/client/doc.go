// Package client is bytes and stamps: connections, the moments at which request
// bytes were written and response bytes were read, and the connect limit.
//
// In: a prepared HTTP request. Out: a response body whose reads are stamped
// below net/http, and the trace of its connection. It knows neither the schedule
// nor the meaning of a byte, and must never send a request twice, follow a
// redirect, add a header that was not asked for, or take a proxy, a protocol or
// an address that was not asked for.
//
// net/http does the protocol; a wrapped connection under it does the stamping.
// For HTTP/1 the wrapper follows the raw response bytes just far enough to know
// which of them are body bytes (account), so that every body byte can be given
// the time of the conn.Read that brought it, even where net/http gathers several
// reads into one. HTTP/2 interleaves streams in frames: there the stamp is the
// return of Body.Read, and connections are kept here (mux), so that a server's
// limit of streams never caps the load unseen.
package client
