package run

// SetAheadBytes bounds the bodies that wait, and returns how to undo that.
func SetAheadBytes(n int64) (undo func()) {
	old := aheadBytes
	aheadBytes = n
	return func() { aheadBytes = old }
}
