package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// maxPart is the length in bytes above which the log stores a line in parts.
const maxPart = 16 << 10

// Writer appends to a log. Only one goroutine at a time may use it.
type Writer struct {
	path   string
	stamps bool
	file   *os.File
	size   int64
	buffer []byte // complete lines that are not in the file yet
}

// Open opens a log for appending. If the log does not exist, Open creates it, readable only by its owner. With stamps,
// each line begins with its time, in the format of container runtimes (Kubernetes, "CRI log format").
func Open(path string, stamps bool) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Writer{path: path, stamps: stamps, file: file, size: info.Size()}, nil
}

// openFile opens or creates a file for appending, readable only by its owner, because logs may contain secrets.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Close closes the log.
func (w *Writer) Close() error { return w.file.Close() }

// Copy writes the content of r, line by line, until r ends. It drops lines that it fails to write, for example on a
// full disk, because the program behind r must not block.
func (w *Writer) Copy(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxPart)
	for {
		line, err := lines.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		w.add(line, full)
		// The end of a line may take long to arrive.
		if rest, _ := lines.Peek(lines.Buffered()); bytes.IndexByte(rest, '\n') < 0 {
			w.flush()
		}
		if err != nil && !full {
			return
		}
	}
}

// add appends a line to the buffer. part says that the line continues.
func (w *Writer) add(line []byte, part bool) {
	if len(line) == 0 {
		return
	}
	if w.stamps {
		w.buffer = time.Now().UTC().AppendFormat(w.buffer, stampFormat)
		if part {
			w.buffer = append(w.buffer, partMark...)
		} else {
			w.buffer = append(w.buffer, wholeMark...)
		}
	}
	w.buffer = append(w.buffer, line...)
	if line[len(line)-1] != '\n' && (w.stamps || !part) {
		w.buffer = append(w.buffer, '\n')
	}
}

// flush writes the buffer to the file, after a rotation if the file would exceed MaxSize.
func (w *Writer) flush() {
	if len(w.buffer) == 0 {
		return
	}
	if w.size > 0 && w.size+int64(len(w.buffer)) > MaxSize {
		w.rotate()
	}
	n, _ := w.file.Write(w.buffer)
	w.size += int64(n)
	w.buffer = w.buffer[:0]
}

// rotate rotates the file. If that fails, the old file keeps growing until the next line's attempt.
func (w *Writer) rotate() {
	file, err := startFile(w.path)
	if err != nil {
		return
	}
	w.file.Close()
	w.file, w.size = file, 0
}

// startFile moves a log's file to its rotated path and creates a new one.
func startFile(path string) (*os.File, error) {
	if err := present(os.Rename(path, older(path))); err != nil {
		return nil, err
	}
	return openFile(path)
}
