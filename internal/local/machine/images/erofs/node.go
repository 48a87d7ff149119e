// Package erofs writes a tree of files as one EROFS image. The data of regular files is plain: it begins on a block, follows
// its inode nowhere, and is not compressed, because a sandbox maps it into memory from the image's file. Inodes have no
// extended attributes, because gVisor rejects inodes with them.
//
// The format is that of the Linux kernel's fs/erofs/erofs_fs.h.
package erofs

import "time"

// The types of files, as in the mode of stat(2).
const (
	TypeMask  = 0o170000
	Fifo      = 0o010000
	Directory = 0o040000
	Regular   = 0o100000
	Symlink   = 0o120000
)

// Node is a file, folder, symbolic link or FIFO. A node with two names in folders is a file with two hard links.
type Node struct {
	// Mode is the type and the permissions, as in stat(2).
	Mode uint16
	// UID and GID are the owner.
	UID, GID uint32
	// Modified is the time of the last change. Times before 1970 are written as 1970.
	Modified time.Time
	// Target is the destination of a symbolic link.
	Target string
	// Children are the entries of a folder by name, without "." and "..". A name has 1 to 255 bytes, without "/" and NUL.
	Children map[string]*Node
	// Data is the content of a regular file.
	Data Data

	plan plan
}

// Data is the place of a regular file's content in the image. The zero value is the empty file.
type Data struct {
	// Size is in bytes.
	Size int64

	block uint32
}

// plan is the place of a node in the image.
type plan struct {
	nid    uint64
	parent uint64
	number uint32
	links  uint32
	// size is the length of the content in bytes: of a folder, its directory blocks.
	size int64
	// block is the first block of plain content, and inline says that the content follows the inode instead.
	block  uint32
	inline bool
}

// IsDirectory reports whether n is a folder.
func (n *Node) IsDirectory() bool { return n.Mode&TypeMask == Directory }

// NewDirectory returns an empty folder with the permissions of mode.
func NewDirectory(mode uint16) *Node {
	return &Node{Mode: Directory | mode&^TypeMask, Children: map[string]*Node{}}
}
