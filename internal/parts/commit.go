package parts

import (
	"crypto/sha1" //nolint:gosec // Git's own hash.
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The author, the time and the message of a tree's commit. They are constants because they are a part of the hash: after a change
// of one of them, no repository's pin matches.
const (
	author  = "Strata"
	email   = "strata@localhost"
	date    = "0 +0000"
	message = "Layer 3 of Strata"
)

// commitOf returns the hash of the commit of files, in Git's format of objects. It runs no git, because each call in an
// organisation's repository compares the hash with the pin.
func commitOf(files map[string][]byte) string {
	who := fmt.Sprintf("%s <%s> %s", author, email, date)
	return hex.EncodeToString(object("commit", fmt.Appendf(nil, "tree %x\nauthor %s\ncommitter %s\n\n%s\n", treeOf(files), who, who, message)))
}

// treeOf returns the hash of a folder.
func treeOf(files map[string][]byte) []byte {
	folders := map[string]map[string][]byte{}
	// Git sorts the entries of a folder as if the names of folders ended with a slash.
	entries := map[string][]byte{}
	for name, content := range files {
		folder, rest, deeper := strings.Cut(name, "/")
		if !deeper {
			entries[name] = append([]byte("100644 "+name+"\x00"), object("blob", content)...)
			continue
		}
		if folders[folder] == nil {
			folders[folder] = map[string][]byte{}
		}
		folders[folder][rest] = content
	}
	for name, below := range folders {
		entries[name+"/"] = append([]byte("40000 "+name+"\x00"), treeOf(below)...)
	}
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, entries[name]...)
	}
	return object("tree", all)
}

// object returns the hash of an object.
func object(kind string, content []byte) []byte {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)) //nolint:gosec // See above.
	return sum[:]
}
