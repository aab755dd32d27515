// Package wirecase is a server's behaviour written down as text: what it writes,
// byte for byte and at which millisecond, and how it ends.
//
// In: files in the form that docs/timelines.md describes. Out: a parsed File, and
// a raw HTTP/1.1 server that plays its answers on any net.Conn, in virtual time
// or over sockets. The same files are the project's wire cases (in testdata,
// each with what a client must make of it) and scripts of the simulated server.
// It must never tidy up what a file says: a broken answer is written as broken as
// it stands there.
package wirecase
