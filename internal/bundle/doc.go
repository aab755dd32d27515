// Package bundle makes one file of a run, and proves that one is whole.
//
// In: the files of a run's folder; or a pack. Out: a pack, the same bytes for the
// same files; or what is proved of a pack, what is not, and what is broken. It
// must never put into a pack what tokentape did not write (but for a dataset that
// was asked for and whose hash is the tape's), never write a member of a pack to
// a place that the pack names, and never trust a size that a pack says.
//
// A pack is a zip archive, so that anything opens it and the tape can be read
// where it lies. It is narrower than zip: names out of a fixed list, no
// folders, no links, no times, nothing before, between or after the members, the
// tape stored as it is. A file that is a zip archive and not such a one is
// refused with the reason.
package bundle
