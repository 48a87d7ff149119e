package logfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// followEvery is the interval at which Read checks a log that it follows.
const followEvery = 100 * time.Millisecond

// outSize is the size in bytes of the output buffer.
const outSize = 32 << 10

// Options selects the part of a log to read. The zero value selects the whole log up to now.
type Options struct {
	// Tail is the number of last lines to read. Nil selects all lines.
	Tail *int64
	// Since omits the lines before this time, and the lines without a time.
	Since time.Time
	// Stamps includes the time of each line, if the log has it.
	Stamps bool
	// Limit is the maximum number of bytes to read. 0 means no limit.
	Limit int64
	// Follow reports, at the end of the log, whether a program may still append to it. Nil means that none does.
	Follow func() bool
}

// Read writes a log to w, with its lines as the program wrote them. It follows the log until Follow returns false, or
// until ctx is done, which is no error. It finds a followed log again after a rotation.
func Read(ctx context.Context, path string, o Options, w io.Writer) error {
	r := &reader{path: path, options: o, out: bufio.NewWriterSize(w, outSize), left: o.Limit}
	err := r.read(ctx)
	if err == nil || errors.Is(err, errLimit) {
		err = r.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	return nil
}

// errLimit means that Read has written Options.Limit bytes.
var errLimit = errors.New("the limit is reached")

// reader is a call of Read in progress.
type reader struct {
	path    string
	options Options
	out     *bufio.Writer
	left    int64 // bytes that may still be written, if there is a limit

	file    *os.File
	lines   *bufio.Reader
	pending []byte // a line whose end has not arrived yet
	within  bool   // the last written line continues
}

// read writes the log to the output's buffer, and follows it.
func (r *reader) read(ctx context.Context) error {
	current, err := r.begin()
	if err != nil {
		return err
	}
	defer func() { r.file.Close() }()
	if current != nil {
		defer current.Close()
	}
	if err := r.tail(current); err != nil {
		return err
	}
	for {
		// The order matters: after a rotation, or after the program's end, no program appends to the file any more.
		moved := r.moved()
		more := r.options.Follow != nil && r.options.Follow()
		if err := r.drain(r.write); err != nil {
			return err
		}
		if !more || moved {
			if err := r.rest(r.write); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		if moved && r.next() {
			continue
		}
		if err := r.out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// tail writes the log, or its last lines, up to the end of the current file.
func (r *reader) tail(current *os.File) error {
	write := r.write
	var last [][]byte
	if n := r.options.Tail; n != nil {
		write = func(raw []byte) error {
			last = append(last, bytes.Clone(raw))
			last = last[max(0, int64(len(last))-*n):]
			return nil
		}
	}
	if err := r.drain(write); err != nil {
		return err
	}
	if current != nil {
		if err := r.rest(write); err != nil {
			return err
		}
		r.file.Close()
		r.use(current)
		if err := r.drain(write); err != nil {
			return err
		}
	}
	for _, raw := range last {
		if err := r.write(raw); err != nil {
			return err
		}
	}
	return nil
}

// drain calls write with each complete line up to the present end of the file.
func (r *reader) drain(write func(raw []byte) error) error {
	for {
		part, err := r.lines.ReadSlice('\n')
		r.pending = append(r.pending, part...)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return err
		}
		if err := write(r.pending); err != nil {
			return err
		}
		r.pending = r.pending[:0]
	}
}

// rest calls write with the incomplete last line, if any, of a file to which no program appends any more.
func (r *reader) rest(write func(raw []byte) error) error {
	if len(r.pending) == 0 {
		return nil
	}
	defer func() { r.pending = r.pending[:0] }()
	return write(r.pending)
}

// write writes a line of the file, unless the options omit it.
func (r *reader) write(raw []byte) error {
	l := parse(raw)
	if l.at.Before(r.options.Since) {
		return nil
	}
	if r.options.Stamps && l.stamp != nil && !r.within {
		if err := r.put(append(slices.Clip(l.stamp), ' ')); err != nil {
			return err
		}
	}
	r.within = !bytes.HasSuffix(l.text, []byte("\n"))
	return r.put(l.text)
}

// put writes text up to the limit.
func (r *reader) put(text []byte) error {
	if r.options.Limit == 0 {
		_, err := r.out.Write(text)
		return err
	}
	n, err := r.out.Write(text[:min(int64(len(text)), r.left)])
	if r.left -= int64(n); err == nil && r.left == 0 {
		return errLimit
	}
	return err
}
