// Package logfile implements the log files of programs. The writer bounds their size, and the reader follows them over
// their rotation.
//
// A log is the file at its path and, after a rotation, the previous file with ".1" after the same name.
package logfile

import (
	"errors"
	"io/fs"
	"os"
)

// MaxSize is the size in bytes at which a file is rotated. A log takes at most twice as much.
const MaxSize = 8 << 20

// older returns the path of the last rotated file.
func older(path string) string { return path + ".1" }

// Previous returns the path of the log of a program's previous run, for programs with one log per run.
func Previous(path string) string { return path + ".previous" }

// Rename moves a log to another path and replaces a log there.
func Rename(from, to string) error {
	if err := Remove(to); err != nil {
		return err
	}
	return errors.Join(present(os.Rename(older(from), older(to))), present(os.Rename(from, to)))
}

// Remove removes a log. It succeeds if there is no log.
func Remove(path string) error {
	return errors.Join(present(os.Remove(older(path))), present(os.Remove(path)))
}

// present returns err unless it means that the file does not exist.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
