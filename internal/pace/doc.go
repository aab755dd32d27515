// Package pace waits until a row is due and says how late it was.
//
// In: absolute times. Out: the moment of release. It is the only place that
// sleeps before a send and must never sleep relative to the send before.
package pace
