// Package exchange is one item sent and understood: client × dialect → stamps,
// events and facts, with first-token and silence limits, as a tape.Request.
//
// In: a body to send and the limits. Out: a tape.Request whose outcome class is
// decided here. It must never do work between a read and its stamp, never keep
// raw bytes of a stream, and never let a 200 status alone be success.
package exchange
