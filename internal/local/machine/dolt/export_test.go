package dolt

// NeedsOf returns the needs of the server of the instance in dir.
func NeedsOf(dir, address string) Needs { return folder(dir).needs(address) }
