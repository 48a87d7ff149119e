package dolt

// NeedsOf is what the server of the instance in a folder needs.
func NeedsOf(dir, address string) Needs { return folder(dir).needs(address) }
