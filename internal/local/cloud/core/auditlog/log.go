package auditlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	// File is the name of the log in the folder of the emulator. Its rotated part has the suffix ".1".
	File = "audit.jsonl"

	// maxSize is the size in bytes at which the log is rotated. The log and its rotated part need twice as much.
	maxSize = 16 << 20
)

// Log is the audit log of an emulator: a file with one entry in a line. It loses no entry when the emulator is killed.
type Log struct {
	path string
	seen func(*Entry, []byte)

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens the log in a folder. seen is called with each entry and its line, in the order of the file; it may be nil.
func Open(dir string, seen func(*Entry, []byte)) (*Log, error) {
	l := &Log{path: filepath.Join(dir, File), seen: seen}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open the audit log of the emulated Google Cloud: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	// A machine that stopped may have left a part of a line.
	last := []byte{'\n'}
	if info.Size() > 0 {
		if _, err = file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			_, err = file.WriteString("\n")
		}
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// write appends an entry. A call must not fail because its entry cannot be written, so the caller only reports the error.
func (l *Log) write(e *Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(line))+1 > maxSize {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(append(line, '\n'))
	l.size += int64(n)
	if l.seen != nil {
		l.seen(e, line)
	}
	return err
}

// rotate moves the file to its rotated path, and begins a new one.
func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	return old.Close()
}

// Close closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
