// Package client is bytes and stamps: connections, the moments at which request
// bytes were written and response bytes were read, connect and total limits.
//
// In: a prepared HTTP request. Out: a response body whose reads are stamped
// below net/http, and the trace of its connection. It knows neither the schedule
// nor the meaning of a byte, and must never retry, follow a redirect or add a
// header that was not asked for.
package client
