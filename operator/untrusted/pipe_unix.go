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

// drainTimeout is how long a reader still waits for bytes after [Pipe.Finish]. Only
// a process that has outlived its run makes it wait.
const drainTimeout = 5 * time.Second

// Pipe is a named pipe by which a command hands over what it would write into a
// file. The reader holds its end open from before the command starts, so that
// whatever the command does to the name changes nothing for the reader.
type Pipe struct {
	name           string
	reader, writer *os.File
}

// NewPipe makes a pipe in a folder. The folder itself must be out of the reach of
// runs; its content need not be.
func NewPipe(dir string) (*Pipe, error) {
	name := filepath.Join(dir, "pipe-"+rand.Text())
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", &os.PathError{Op: "mkfifo", Path: name, Err: err})
	}
	p := &Pipe{name: name}
	var err error
	if p.reader, err = openPipe(name, os.O_RDONLY); err == nil {
		// As long as this end is open the reader sees no end, however often the command
		// opens and closes its own.
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
		return nil, errors.Join(fmt.Errorf("%s is no pipe any more", name), err, file.Close())
	}
	return file, nil
}

// Path is the name that the command opens.
func (p *Pipe) Path() string { return p.name }

// Read implements [io.Reader]. It ends with [io.EOF] after Finish.
func (p *Pipe) Read(b []byte) (int, error) { return p.reader.Read(b) }

// Finish says that the command has ended. What it wrote can still be read. A
// process that has outlived it and holds the pipe open delays the end of reading
// by five seconds at most.
func (p *Pipe) Finish() {
	_ = p.writer.Close()
	_ = p.reader.SetReadDeadline(time.Now().Add(drainTimeout)) // Pipes have deadlines.
}

// Close removes the pipe.
func (p *Pipe) Close() {
	for _, end := range []*os.File{p.reader, p.writer} {
		if end != nil {
			_ = end.Close()
		}
	}
	_ = os.Remove(p.name) // It goes with its folder otherwise.
}
