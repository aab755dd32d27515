// Package metric derives the values of one request from its stamps and events:
// one place per definition.
//
// In: a tape.Request. Out: a Request, small enough to keep a quarter of a
// million of them, and the definitions as methods on it. It must never turn an
// absent value into a zero, never look at another request, and never decide
// which requests count.
package metric
