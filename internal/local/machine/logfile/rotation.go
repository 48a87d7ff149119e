package logfile

import (
	"bufio"
	"os"
)

// begin opens the oldest file of the log. current is the file after it, or nil if there is only one file.
func (r *reader) begin() (current *os.File, err error) {
	// The order matters: a file that is rotated meanwhile is then found twice instead of never.
	current, err = os.Open(r.path)
	first, olderErr := os.Open(older(r.path))
	switch {
	case err != nil && olderErr != nil:
		return nil, err
	case err == nil && olderErr != nil:
		first, current = current, nil
	case err == nil && same(first, current):
		current.Close()
		current = nil
	}
	r.use(first)
	return current, nil
}

// use makes file the file being read.
func (r *reader) use(file *os.File) { r.file, r.lines = file, bufio.NewReader(file) }

// moved reports whether the file being read has been rotated.
func (r *reader) moved() bool {
	info, err := os.Stat(r.path)
	if err != nil {
		return false
	}
	own, err := r.file.Stat()
	return err == nil && !os.SameFile(own, info)
}

// next opens the next file: the rotated file, unless that is the one just read, and otherwise the current file. The
// rotated file may be new to the reader if two rotations followed each other quickly.
func (r *reader) next() bool {
	file, err := os.Open(older(r.path))
	if err == nil && same(file, r.file) {
		file.Close()
		err = os.ErrExist
	}
	if err != nil {
		file, err = os.Open(r.path)
	}
	if err != nil {
		return false
	}
	r.file.Close()
	r.use(file)
	return true
}

// same reports whether two open files are the same file.
func same(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
