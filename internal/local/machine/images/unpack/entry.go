package unpack

import (
	"archive/tar"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

const (
	// whiteout is the prefix of the names that delete, opaque the name that empties its folder, and internal the prefix of
	// AUFS's own files, which images built long ago contain.
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
	internal = ".wh..wh."
	// longestName, longestPath and longestTarget are Linux's limits in bytes.
	longestName, longestPath, longestTarget = 255, 4096, 4095
)

// refuse returns the error about an entry that no correct image contains.
func refuse(header *tar.Header, format string, arguments ...any) error {
	shown := header.Name
	if len(shown) > 200 {
		shown = shown[:200] + "..."
	}
	return fault.New(fault.Corrupt, "entry "+quote(shown), format, arguments...)
}

// add adds one entry of a layer.
func (i *Image) add(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // It describes the archive, and not a file.
	}
	i.contents.Entries++
	if i.limits.Entries > 0 && i.contents.Entries > i.limits.Entries {
		return fault.New(fault.TooLarge, "image", "it has more than %d entries", i.limits.Entries)
	}
	parts := split(header.Name)
	if err := check(header, parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		if header.Typeflag != tar.TypeDir {
			return refuse(header, "the root of the image is a folder, not a file of type %q", header.Typeflag)
		}
		describe(i.root, header)
		return nil
	}
	parents, base := parts[:len(parts)-1], parts[len(parts)-1]
	if strings.HasPrefix(base, whiteout) {
		return i.remove(header, parents, base)
	}
	node, err := i.node(header, content)
	if err != nil || node == nil {
		return err
	}
	folder, err := i.folder(header, parents)
	if err != nil {
		return err
	}
	if existing := folder.Children[base]; existing != nil && existing.IsDirectory() && node.IsDirectory() {
		describe(existing, header)
		node = existing
	}
	folder.Children[base] = node
	i.written[name{folder, base}] = true
	return nil
}

// check validates a name and its header.
func check(header *tar.Header, parts []string) error {
	if strings.ContainsRune(header.Name, 0) || len(header.Name) > longestPath {
		return refuse(header, "the name is longer than %d bytes or contains a NUL byte", longestPath)
	}
	for _, part := range parts {
		if part == ".." {
			return refuse(header, `the name contains ".."`)
		}
		if len(part) > longestName {
			return refuse(header, "a part of the name is longer than %d bytes", longestName)
		}
	}
	for _, id := range []int{header.Uid, header.Gid} {
		if id < 0 || uint64(id) > math.MaxUint32 {
			return refuse(header, "the owner %d is not a user ID of Linux", id)
		}
	}
	return nil
}

// split returns the parts of a slash-separated name, without empty ones and ".".
func split(name string) []string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// node returns the node that a header describes, or nil for a device node: a sandbox gives a container no devices of images.
func (i *Image) node(header *tar.Header, content io.Reader) (*erofs.Node, error) {
	node := &erofs.Node{}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		if i.limits.Bytes > 0 && header.Size > i.limits.Bytes-i.data {
			return nil, fault.New(fault.TooLarge, "image", "its files have more than %d bytes", i.limits.Bytes)
		}
		i.data += header.Size
		data, err := i.writer.Write(content, header.Size)
		if err != nil {
			return nil, err
		}
		node.Mode, node.Data = erofs.Regular, data
	case tar.TypeDir:
		node = erofs.NewDirectory(0)
	case tar.TypeSymlink:
		if target := header.Linkname; target == "" || len(target) > longestTarget || strings.ContainsRune(target, 0) {
			return nil, refuse(header, "the symbolic link has a target that is empty, contains a NUL byte, or is longer than %d bytes", longestTarget)
		}
		node.Mode, node.Target = erofs.Symlink, header.Linkname
	case tar.TypeLink:
		return i.linked(header)
	case tar.TypeFifo:
		node.Mode = erofs.Fifo
	case tar.TypeChar, tar.TypeBlock:
		i.contents.Devices++
		return nil, nil
	default:
		return nil, refuse(header, "it has the unknown type %q", header.Typeflag)
	}
	describe(node, header)
	i.attributes(node, header)
	return node, nil
}

// linked returns the existing file that a hard link names.
func (i *Image) linked(header *tar.Header) (*erofs.Node, error) {
	parts := split(header.Linkname)
	if len(parts) == 0 || slices.Contains(parts, "..") {
		return nil, refuse(header, `the hard link's target %s is empty or contains ".."`, quote(header.Linkname))
	}
	folder, err := i.find(path.Join(parts[:len(parts)-1]...))
	if err != nil {
		return nil, refuse(header, "the hard link's target %s does not exist", quote(header.Linkname))
	}
	target := folder.Children[parts[len(parts)-1]]
	switch {
	case target == nil:
		return nil, refuse(header, "the hard link's target %s does not exist", quote(header.Linkname))
	case target.IsDirectory():
		return nil, refuse(header, "the hard link's target %s is a folder", quote(header.Linkname))
	}
	return target, nil
}

// describe sets the metadata of a node.
func describe(node *erofs.Node, header *tar.Header) {
	const permissions = 0o7777
	node.Mode = node.Mode&erofs.TypeMask | uint16(header.Mode)&permissions
	node.UID, node.GID = uint32(header.Uid), uint32(header.Gid)
	node.Modified = header.ModTime
}

// attributes records the extended attributes of an entry, which are in records of the PAX format.
func (i *Image) attributes(node *erofs.Node, header *tar.Header) {
	const prefix, capability = "SCHILY.xattr.", "security.capability"
	for key, value := range header.PAXRecords {
		switch attribute, found := strings.CutPrefix(key, prefix); {
		case found && attribute == capability:
			i.capabilities[node] = []byte(value)
		case found:
			i.contents.Attributes++
		}
	}
}
