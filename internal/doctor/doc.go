// Package doctor finds out what the client's host can carry, before any load.
//
// In: a clock, a function that starts the built-in server in another process, readings
// of the machine. Out: items, each with value, limit, verdict, how it was found and what
// mends it, and the client's own envelope: up to how many streams at which token rate its
// stamps are true. It must never send anything to another host than a target that the
// user names, never send that one more than it says (a look-up of its name,
// connections, GETs), never change a setting of the machine, and never call a value good
// that could not be read.
//
// search.go decides which loads are tried, load.go sends one and compares stamps with
// truths, server.go is the other process. host.go judges readings, timer.go, speed.go and
// reach.go take them (speed.go also watches a machine beside a load), carry.go holds a planned load against all of it.
package doctor
