// Package client is bytes and stamps: connections, the moments at which request
// bytes were written and response bytes were read, and the connect limit.
//
// In: a prepared HTTP request. Out: a response body whose reads are stamped
// below net/http, and the trace of its connection. It knows neither the schedule
// nor the meaning of a byte, and must never send a request twice, follow a
// redirect or add a header that was not asked for.
//
// net/http does the protocol; a wrapped connection under it does the stamping.
// The wrapper follows the raw response bytes just far enough to know which of
// them are body bytes (account), so that every body byte can be given the time
// of the conn.Read that brought it, even where net/http gathers several reads
// into one.
package client
