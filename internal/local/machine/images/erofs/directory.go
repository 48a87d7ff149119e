package erofs

import (
	"encoding/binary"
	"maps"
	"slices"
)

// direntSize is the size of an entry in a directory block, without its name.
const direntSize = 12

// names returns the names in a folder with "." and "..", in the order of their bytes: readers search them binarily.
func names(n *Node) []string {
	found := slices.AppendSeq([]string{".", ".."}, maps.Keys(n.Children))
	slices.Sort(found)
	return found
}

// blocksOf splits names into those of each directory block.
func blocksOf(names []string) [][]string {
	var blocks [][]string
	first, used := 0, 0
	for i, name := range names {
		need := direntSize + len(name)
		if used+need > blockSize {
			blocks = append(blocks, names[first:i])
			first, used = i, 0
		}
		used += need
	}
	return append(blocks, names[first:])
}

// directorySize returns the size of a folder's content in bytes. All blocks except the last are full.
func directorySize(n *Node) int64 {
	blocks := blocksOf(names(n))
	size := (len(blocks) - 1) * blockSize
	for _, name := range blocks[len(blocks)-1] {
		size += direntSize + len(name)
	}
	return int64(size)
}

// directory returns a folder's content: in each block the entries, and then their names.
func directory(n *Node) []byte {
	content := make([]byte, n.plan.size)
	for i, names := range blocksOf(names(n)) {
		block := content[i*blockSize:]
		at := direntSize * len(names)
		for j, name := range names {
			nid, kind := n.entry(name)
			entry := block[j*direntSize:]
			binary.LittleEndian.PutUint64(entry, nid)
			binary.LittleEndian.PutUint16(entry[8:], uint16(at))
			entry[10] = kind
			at += copy(block[at:], name)
		}
	}
	return content
}

// entry returns the inode number and the type of an entry. The types are those of readdir(3) without gaps.
func (n *Node) entry(name string) (nid uint64, kind uint8) {
	const regular, directory, fifo, symlink = 1, 2, 5, 7
	switch name {
	case ".":
		return n.plan.nid, directory
	case "..":
		return n.plan.parent, directory
	}
	child := n.Children[name]
	switch child.Mode & TypeMask {
	case Directory:
		return child.plan.nid, directory
	case Symlink:
		return child.plan.nid, symlink
	case Fifo:
		return child.plan.nid, fifo
	}
	return child.plan.nid, regular
}
