// Package resource says, before any load, whether this machine can carry it.
//
// In: what a plan needs (requests in flight, connections, bytes) and what the
// machine has (descriptors, ephemeral ports, memory). Out: notes, or a refusal with
// the numbers and what to change. It refuses only what cannot work; it must never
// send anything, and never change a setting but the process's own soft limit of
// descriptors.
package resource
