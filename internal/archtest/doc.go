// Package archtest proves what ARCHITECTURE.md claims: the arrow table, a doc.go
// in every package, one room that reads the clock, a comment on every exported
// name.
//
// In: the source tree and ARCHITECTURE.md, whose tables it reads so that document
// and proof cannot differ. Out: test failures. It must never hold a rule about
// imports that the document does not state.
package archtest
