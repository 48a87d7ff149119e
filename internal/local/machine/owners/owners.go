// Package owners reads and writes the owners of files in the volumes of sandboxed pods.
//
// A sandbox of an ordinary user cannot give a file to another user of this machine. So tools/runsc keeps the owner, the
// group and the permissions that a container sees as a record, in an extended attribute beside the file. On this machine
// all files of a volume belong to the user who runs the platform.
package owners

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MountOption is the option of an OCI bind mount whose owners are records. runsc needs the flags --directfs=false,
// --host-uds=none and --overlay2=none with it.
const MountOption = "x-strata-owners"

// Attribute is the extended attribute that contains the record of a file or folder. Links have no records.
const Attribute = "user.strata.owner"

// ErrUnsupported means that a file system, or this operating system, stores no user attributes.
var ErrUnsupported = errors.New("no user attributes")

// Annotations returns the annotations that the spec of a sandbox's first container needs for a volume: name is unique in
// the sandbox and has no dots, and source is the source of the volume's mounts. With them gVisor asks for the attributes
// of files at each use, so that a container sees what other sandboxes and this machine have changed.
func Annotations(name, source string) map[string]string {
	const prefix = "dev.gvisor.spec.mount."
	return map[string]string{
		prefix + name + ".source": source,
		prefix + name + ".type":   "bind",
		prefix + name + ".share":  "shared",
	}
}

// maxMode has the bits of a mode that a record contains.
const maxMode = 0o7777

// A Record is what a container sees as the owner, the group and the permissions of a file. The zero value belongs to root,
// and gives nobody a permission.
type Record struct {
	UID, GID uint32
	Mode     uint32 // read, write and execute, sticky (01000), setgid (02000), setuid (04000)
}

// String returns the record in the form of the attribute, UID:GID:MODE, such as "999:999:0644".
func (r Record) String() string { return fmt.Sprintf("%d:%d:%04o", r.UID, r.GID, r.Mode) }

// Parse is the inverse of String. It accepts no other text.
func Parse(text string) (Record, error) {
	fields := strings.Split(text, ":")
	if len(fields) == 3 {
		uid, badUID := strconv.ParseUint(fields[0], 10, 32)
		gid, badGID := strconv.ParseUint(fields[1], 10, 32)
		mode, badMode := strconv.ParseUint(fields[2], 8, 32)
		r := Record{UID: uint32(uid), GID: uint32(gid), Mode: uint32(mode)}
		if errors.Join(badUID, badGID, badMode) == nil && mode <= maxMode && r.String() == text {
			return r, nil
		}
	}
	return Record{}, fmt.Errorf("%q is not the record of an owner: it must be UID:GID:MODE, such as 999:999:0644", text)
}

// forGroup returns the record with the permissions that a volume's group gets from Kubernetes: read and write, and for a
// folder also search and the setgid bit, so that new files belong to the group, too.
func (r Record) forGroup(gid uint32, folder bool) Record {
	r.GID = gid
	r.Mode |= 0o660
	if folder {
		r.Mode |= 0o2110
	}
	return r
}
