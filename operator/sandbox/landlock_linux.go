package sandbox

import (
	"errors"
	"fmt"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Access rights to files. Older versions of Landlock support only the first few bits.
const (
	fileRights = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate

	readRights = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir

	// These rights exclude creating devices, and executing files that the command wrote.
	writeRights = landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSWriteFile | landlock.AccessFSTruncate |
		landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile | landlock.AccessFSMakeDir | landlock.AccessFSMakeReg |
		landlock.AccessFSMakeSym | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo |
		// Programs move files between their own folders.
		landlock.AccessFSRefer

	// signalsFixed is the bit of a fixed erratum of Landlock: a confined thread could not
	// signal the other threads of its process, and the Go runtime relies on such signals.
	signalsFixed = 1 << 1
)

// rights returns the access rights and scopes that a version of Landlock can restrict
// (landlock(7), "VERSIONS").
func rights(version int) (files, scoped uint64) {
	if version >= 6 {
		// This keeps the command from connecting to abstract sockets of other processes.
		scoped = landlock.ScopeAbstractUnixSocket
		if errata, err := landlock.LandlockGetErrata(); err == nil && errata&signalsFixed != 0 {
			scoped |= landlock.ScopeSignal
		}
	}
	switch {
	case version >= 9:
		return landlock.AccessFSResolveUnix<<1 - 1, scoped
	case version >= 5:
		return landlock.AccessFSIoctlDev<<1 - 1, scoped
	case version >= 3:
		return landlock.AccessFSTruncate<<1 - 1, scoped
	case version >= 2:
		return landlock.AccessFSRefer<<1 - 1, scoped
	}
	return landlock.AccessFSMakeSym<<1 - 1, scoped
}

// checkLandlock returns an error that says why Landlock cannot confine commands on this
// kernel, or nil if it can.
func checkLandlock() error {
	_, err := landlock.LandlockGetABIVersion()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.New("this kernel has no Landlock, or Landlock is disabled")
	}
	if err != nil {
		return fmt.Errorf("ask the kernel for Landlock: %w", err)
	}
	return nil
}

// restrict permanently restricts the calling thread, and the processes that it starts,
// to the granted files. The kernel requires a call of processes.Mark on the thread first.
func restrict(grants []Grant) error {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return fmt.Errorf("ask the kernel for Landlock: %w", err)
	}
	files, scoped := rights(version)
	ruleset, err := landlock.LandlockCreateRuleset(&landlock.RulesetAttr{HandledAccessFS: files, Scoped: scoped}, 0)
	if err != nil {
		return fmt.Errorf("make a set of rules: %w", err)
	}
	defer unix.Close(ruleset)
	for _, g := range grants {
		if err := allow(ruleset, g, files); err != nil {
			return fmt.Errorf("allow %s: %w", g.Path, err)
		}
	}
	if err := landlock.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("enforce the rules: %w", err)
	}
	return nil
}

// allow adds one grant to a ruleset.
func allow(ruleset int, g Grant, known uint64) error {
	fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	access := uint64(readRights)
	if g.Write {
		access = writeRights
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fileRights
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{ParentFd: fd, AllowedAccess: access & known}, 0)
}
