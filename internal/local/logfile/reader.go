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

// followEvery is how often a log that is followed is looked at.
const followEvery = 100 * time.Millisecond

// outSize is how much of a log is written at a time.
const outSize = 32 << 10

// Options say what of a log is read. The zero value reads all that is kept, up to now.
type Options struct {
	// Tail reads the last lines only, this many; nil reads all.
	Tail *int64
	// Since leaves out the lines that were written before, and those of which nobody knows when.
	Since time.Time
	// Stamps shows of each line when it was written, where that is known.
	Stamps bool
	// Limit ends the reading after this many bytes; 0 does not.
	Limit int64
	// Follow is asked at the end of the log whether more may come; nil says no.
	Follow func() bool
}

// Read writes a log to w, with its lines as the program wrote them. It follows the log until there is nothing more to
// come, or ctx ends, which is no error. What it follows it finds again after a rotation.
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

// errLimit says that Options.Limit bytes have been written.
var errLimit = errors.New("the limit is reached")

type reader struct {
	path    string
	options Options
	out     *bufio.Writer
	left    int64 // bytes that may be written, where there is a limit

	file    *os.File
	lines   *bufio.Reader
	pending []byte // a line of which the end is still to come
	within  bool   // the last line that was written goes on
}

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
		// In this order: when the file has been put aside, or the program has ended, nothing is added to the file any more.
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

// begin opens the first file that is kept. current is the one that follows it, nil where the first is all there is.
func (r *reader) begin() (current *os.File, err error) {
	// In this order: a file that is put aside meanwhile is then met twice, and not missed.
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

func (r *reader) use(file *os.File) { r.file, r.lines = file, bufio.NewReader(file) }

// tail writes what is kept, or the last lines of it, up to the end of the current file.
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

// drain hands on each whole line up to the present end of the file.
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

// rest hands on the last line of a file that nothing is added to any more, where that line has no end.
func (r *reader) rest(write func(raw []byte) error) error {
	if len(r.pending) == 0 {
		return nil
	}
	defer func() { r.pending = r.pending[:0] }()
	return write(r.pending)
}

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

// moved says whether the file that is read is no longer the one that is written.
func (r *reader) moved() bool {
	info, err := os.Stat(r.path)
	if err != nil {
		return false
	}
	own, err := r.file.Stat()
	return err == nil && !os.SameFile(own, info)
}

// next goes on to the next file: the one before the current, where that is not the one just read; it was put aside so
// soon that it was never met.
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

func same(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
