// Package probe is what tokentape learns of a server before the first request.
//
// In: the server's address and the user's credentials. Out: its model ids,
// engine and version, or a refusal that says what came back. It must never send
// anything but GETs, and never fail for an endpoint that a server need not have.
package probe
