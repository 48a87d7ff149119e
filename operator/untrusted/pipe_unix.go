//go:build unix

package untrusted

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// drainTimeout bounds how long a reader waits for more bytes after [Pipe.Finish]. The
// reader waits only if a process has outlived its run.
const drainTimeout = 5 * time.Second

// Pipe is a named pipe that a command gets instead of a file to write to. The reader
// opens its end before the command starts, so a command that replaces the pipe's name
// does not affect the reader.
type Pipe struct {
	name           string
	reader, writer *os.File
}

// NewPipe creates a pipe in a folder. Runs must not be able to replace the folder
// itself; they may be able to change its content.
func NewPipe(dir string) (*Pipe, error) {
	name := filepath.Join(dir, "pipe-"+rand.Text())
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", &os.PathError{Op: "mkfifo", Path: name, Err: err})
	}
	p := &Pipe{name: name}
	var err error
	if p.reader, err = openPipe(name, os.O_RDONLY); err == nil {
		// While this end is open, the reader sees no EOF, however often the command opens and
		// closes its own end.
		p.writer, err = openPipe(name, os.O_WRONLY)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	return p, nil
}

func openPipe(name string, flag int) (*os.File, error) {
	file, err := os.OpenFile(name, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		return nil, errors.Join(fmt.Errorf("%s is no longer a pipe", name), err, file.Close())
	}
	return file, nil
}

// Path returns the name that the command opens.
func (p *Pipe) Path() string { return p.name }

// Read implements [io.Reader]. Read returns [io.EOF] after Finish, when all data is
// read.
func (p *Pipe) Read(b []byte) (int, error) { return p.reader.Read(b) }

// Finish tells the pipe that the command has ended. The reader can still read the
// command's data. A process that has outlived the command and holds the pipe open
// delays EOF by five seconds at most.
func (p *Pipe) Finish() {
	_ = p.writer.Close()
	_ = p.reader.SetReadDeadline(time.Now().Add(drainTimeout)) // Pipes support deadlines.
}

// Close closes both ends and removes the pipe.
func (p *Pipe) Close() {
	for _, end := range []*os.File{p.reader, p.writer} {
		if end != nil {
			_ = end.Close()
		}
	}
	_ = os.Remove(p.name) // Otherwise the removal of the folder removes it.
}
