// Package object finds fields in the text of a JSON object without decoding the
// rest of it.
//
// In: the bytes of an object that json.Valid and utf8.Valid accepted. Out: the bytes of its
// values. It must never be given unchecked text, and never copies a value.
package object
