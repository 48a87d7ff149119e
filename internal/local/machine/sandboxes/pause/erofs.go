package pause

import "encoding/binary"

// The layout of the image, in blocks of 4096 bytes: the superblock and the inodes, the root folder, the program.
const (
	block      = 4096
	superblock = 1024 // its offset
	inodes     = 2048 // the offset of the inodes, 32 bytes each
	rootID     = inodes / 32
	programID  = rootID + 1
)

// erofs returns an EROFS image with one executable file of at most one block in its root. The layout is that of the kernel's
// fs/erofs/erofs_fs.h: plain data, compact inodes, no checksum.
func erofs(name string, program []byte) []byte {
	image := make([]byte, 3*block)
	le := binary.LittleEndian
	sb := image[superblock:]
	le.PutUint32(sb[0:], 0xe0f5e1e2) // magic
	sb[12] = 12                      // logarithm of the size of a block
	le.PutUint16(sb[14:], rootID)
	le.PutUint64(sb[16:], 2) // inodes
	le.PutUint32(sb[36:], 3) // blocks
	used := folder(image[block:2*block], name)
	inode(image[inodes:], 0o040755, 2, used, 1, 1)
	inode(image[inodes+32:], 0o100755, 1, uint32(len(program)), 2, 2)
	copy(image[2*block:], program)
	return image
}

// inode writes a compact inode of root with plain data.
func inode(to []byte, mode, links uint16, size, at, number uint32) {
	le := binary.LittleEndian
	le.PutUint16(to[4:], mode)
	le.PutUint16(to[6:], links)
	le.PutUint32(to[8:], size)
	le.PutUint32(to[16:], at) // first block
	le.PutUint32(to[20:], number)
}

// folder writes the entries of the root, 12 bytes each, sorted by name, then the names. It returns the size of both, at which the
// last name ends.
func folder(to []byte, name string) uint32 {
	le := binary.LittleEndian
	names := []string{".", "..", name}
	offset := 12 * len(names)
	for i, id := range []uint64{rootID, rootID, programID} {
		entry := to[12*i:]
		le.PutUint64(entry, id)
		le.PutUint16(entry[8:], uint16(offset))
		entry[10] = 2 // a folder
		if id == programID {
			entry[10] = 1 // a file
		}
		offset += copy(to[offset:], names[i])
	}
	return uint32(offset)
}
