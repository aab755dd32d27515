// Package secret knows what a secret is by its name, and takes keys and passwords out
// of what others wrote.
//
// In: names of headers and fields; the secrets of a run, and text from a server, a
// proxy or an error. Out: whether a name is that of a credential; the text with "***"
// for every secret, also where it was escaped, spaced or cut. It must never show a
// secret in order to save a text, nor know what a text means.
package secret
