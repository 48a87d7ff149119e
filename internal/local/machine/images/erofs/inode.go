package erofs

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math"
	"slices"
)

const (
	// slot is the unit of inode numbers in bytes, and inodeSize the size of an extended inode.
	slot      = 32
	inodeSize = 64
	// firstInode leaves inode number 0 unused: some programs skip folder entries with number 0.
	firstInode = 2 * slot
	// superblockAt is the offset of the superblock, and superblockSize its size.
	superblockAt, superblockSize = 1024, 128
	magic                        = 0xe0f5e1e2
	// featureChecksum and featureTimes are compatible features: the superblock has a checksum, and inodes have times.
	featureChecksum, featureTimes = 1, 2
	// layoutPlain and layoutInline are the layouts of an inode's content. The lowest bit of the format is set in extended inodes.
	layoutPlain, layoutInline, extended = 0, 2, 1
)

// number returns all nodes below root, each once and root first, and counts their links.
func number(root *Node) []*Node {
	nodes := []*Node{root}
	root.plan = plan{links: 2, number: 1}
	seen := map[*Node]bool{root: true}
	for i := 0; i < len(nodes); i++ {
		folder := nodes[i]
		for _, name := range slices.Sorted(maps.Keys(folder.Children)) {
			child := folder.Children[name]
			if seen[child] {
				child.plan.links++
				continue
			}
			seen[child] = true
			nodes = append(nodes, child)
			child.plan = plan{links: 1, number: uint32(len(nodes))}
			if child.IsDirectory() {
				child.plan.links = 2
				folder.plan.links++
			}
		}
	}
	return nodes
}

// place assigns inode numbers, and blocks to folders and symbolic links whose content does not fit beside their inodes.
func (w *Writer) place(nodes []*Node) error {
	offset := int64(firstInode)
	for _, n := range nodes {
		p := &n.plan
		switch n.Mode & TypeMask {
		case Regular:
			p.size, p.block = n.Data.Size, n.Data.block
		case Directory:
			p.size = directorySize(n)
		case Symlink:
			p.size = int64(len(n.Target))
		}
		length := int64(inodeSize)
		if n.Mode&TypeMask != Regular && p.size > 0 {
			// Inline content must not cross the end of a block.
			if p.inline = p.size <= blockSize/2; p.inline {
				length += p.size
			} else {
				p.block = uint32(w.next)
				w.next += uint64(p.size+blockSize-1) / blockSize
			}
		}
		if offset%blockSize+length > blockSize {
			offset += blockSize - offset%blockSize
		}
		p.nid = uint64(offset / slot)
		offset += (length + slot - 1) / slot * slot
	}
	if w.next > math.MaxUint32 {
		return errors.New("the image has more blocks than EROFS can address")
	}
	nodes[0].plan.parent = nodes[0].plan.nid
	for _, n := range nodes {
		for _, child := range n.Children {
			child.plan.parent = n.plan.nid
		}
	}
	return nil
}

// content returns the content of a folder or symbolic link.
func content(n *Node) []byte {
	if n.IsDirectory() {
		return directory(n)
	}
	return []byte(n.Target)
}

// inodes writes the inodes with their inline content and returns the number of bytes.
func (w *Writer) inodes(nodes []*Node) (int64, error) {
	var at int64
	write := func(b []byte) error {
		at += int64(len(b))
		_, err := w.out.Write(b)
		return err
	}
	for _, n := range nodes {
		if err := write(make([]byte, int64(n.plan.nid)*slot-at)); err != nil {
			return 0, err
		}
		if err := write(inode(n)); err != nil {
			return 0, err
		}
		if n.plan.inline {
			if err := write(content(n)); err != nil {
				return 0, err
			}
		}
	}
	return at, nil
}

// inode returns the extended inode of n.
func inode(n *Node) []byte {
	layout := layoutPlain
	if n.plan.inline {
		layout = layoutInline
	}
	b := make([]byte, inodeSize)
	little := binary.LittleEndian
	little.PutUint16(b[0:], uint16(extended|layout<<1))
	little.PutUint16(b[4:], n.Mode)
	little.PutUint64(b[8:], uint64(n.plan.size))
	little.PutUint32(b[16:], n.plan.block)
	little.PutUint32(b[20:], n.plan.number)
	little.PutUint32(b[24:], n.UID)
	little.PutUint32(b[28:], n.GID)
	if seconds := n.Modified.Unix(); seconds > 0 {
		little.PutUint64(b[32:], uint64(seconds))
		little.PutUint32(b[40:], uint32(n.Modified.Nanosecond()))
	}
	little.PutUint32(b[44:], n.plan.links)
	return b
}

// superblock returns the first block of the image.
func superblock(root *Node, inodes int, meta, blocks uint32, label []byte) []byte {
	b := make([]byte, blockSize)
	s := b[superblockAt : superblockAt+superblockSize]
	little := binary.LittleEndian
	little.PutUint32(s[0:], magic)
	little.PutUint32(s[8:], featureChecksum|featureTimes)
	s[12] = 12 // the binary logarithm of blockSize
	little.PutUint16(s[14:], uint16(root.plan.nid))
	little.PutUint64(s[16:], uint64(inodes))
	little.PutUint32(s[36:], blocks)
	little.PutUint32(s[40:], meta)
	copy(s[48:64], label)
	little.PutUint32(s[4:], ^crc32.Checksum(b[superblockAt:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
