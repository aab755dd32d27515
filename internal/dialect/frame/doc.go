// Package frame cuts a response body into payloads: server-sent events, lines
// of JSON, or one JSON value.
//
// In: bytes in any split. Out: payloads, each as soon as the byte that completes
// it was fed. The same bytes give the same payloads whatever the split. It must
// never know what a payload means, and never hold more than one payload (Max).
package frame
