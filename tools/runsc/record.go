package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/log"
)

// attribute is the extended attribute of a file's record. Package internal/local/machine/owners reads and writes it, too,
// and its tests check both against each other.
const attribute = "user.strata.owner"

// longestRecord is the length of the longest record in bytes.
const longestRecord = len("4294967295:4294967295:7777")

// permissions are the bits of a mode that a record contains: read, write and execute, sticky, setgid, setuid.
const permissions = 0o7777

// A record is what a container sees as the owner, the group and the permissions of a file.
type record struct {
	uid, gid uint32
	mode     uint32 // within permissions
}

// String returns the record as the attribute contains it, such as "999:999:0644".
func (r record) String() string {
	return fmt.Sprintf("%d:%d:%04o", r.uid, r.gid, r.mode)
}

// parseRecord is the inverse of String. It accepts no other text.
func parseRecord(text string) (record, error) {
	var r record
	invalid := fmt.Errorf("%q is not a record: it must be UID:GID:MODE, such as 999:999:0644", text)
	uid, rest, _ := strings.Cut(text, ":")
	gid, mode, _ := strings.Cut(rest, ":")
	for _, field := range []struct {
		text string
		base int
		to   *uint32
	}{{uid, 10, &r.uid}, {gid, 10, &r.gid}, {mode, 8, &r.mode}} {
		number, err := strconv.ParseUint(field.text, field.base, 32)
		if err != nil {
			return record{}, invalid
		}
		*field.to = uint32(number)
	}
	if r.String() != text || r.mode > permissions {
		return record{}, invalid
	}
	return r, nil
}

// recorded reports whether files of a type have records. Linux stores user attributes for these types only.
func recorded(mode uint32) bool {
	return mode&unix.S_IFMT == unix.S_IFREG || mode&unix.S_IFMT == unix.S_IFDIR
}

// readRecord returns the record of an open file with the given host mode. A file without a record belongs to root, with
// the host's permissions: the user of this machine has put it there. It returns EIO for a record that it cannot read,
// because any other answer could give the file to a wrong user.
func readRecord(fd int, hostMode uint32) (record, error) {
	missing := record{mode: hostMode & permissions}
	if !recorded(hostMode) {
		return missing, nil
	}
	var value [longestRecord]byte
	n, err := unix.Fgetxattr(fd, attribute, value[:])
	if errors.Is(err, unix.ENODATA) {
		return missing, nil
	}
	if err == nil {
		var r record
		if r, err = parseRecord(string(value[:n])); err == nil {
			return r, nil
		}
	}
	log.Warningf("read the attribute %s of a file with mode %#o: %v", attribute, hostMode, err)
	return record{}, unix.EIO
}

// write sets the record of an open file.
func (r record) write(fd int) error {
	return unix.Fsetxattr(fd, attribute, []byte(r.String()), 0)
}
