// Package logfile implements the log files of programs: bounded in size while they are written, followed over their
// rotation while they are read.
//
// A log is the file at its path and, where that grew too large, the one before it, of the same name with ".1" behind.
package logfile

import (
	"errors"
	"io/fs"
	"os"
)

// MaxSize is the size in bytes at which a file is put aside. A log takes twice as much at most.
const MaxSize = 8 << 20

// older is the file that was put aside last.
func older(path string) string { return path + ".1" }

// Previous is the path of the log of a program's run before the last, where each run has a log of its own.
func Previous(path string) string { return path + ".previous" }

// Rename gives a log another path, in place of a log that is there.
func Rename(from, to string) error {
	if err := Remove(to); err != nil {
		return err
	}
	return errors.Join(present(os.Rename(older(from), older(to))), present(os.Rename(from, to)))
}

// Remove removes a log, where there is one.
func Remove(path string) error {
	return errors.Join(present(os.Remove(older(path))), present(os.Remove(path)))
}

// present passes over the error that there is no such file.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
