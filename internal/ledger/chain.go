package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// segmentSuffix ends the names of the files of a chain, which begin with the number of their first entry.
const segmentSuffix = ".jsonl"

// segment is a file of a chain.
type segment struct {
	path  string
	first uint64
	// base is the hash of the entry before the first one.
	base string
}

// chain is an open chain.
type chain struct {
	dir, name string
	head      Head
	segments  []segment
	file      *os.File
	size      int64

	// unsaved says that the file has entries that may not be on the disk. dropped are files that the next signed heads no longer need.
	unsaved bool
	dropped []string
}

// segmentsOf returns the files of a chain, by the number of their first entries.
func segmentsOf(dir string) ([]segment, error) {
	left, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, each := range left {
		number, is := strings.CutSuffix(each.Name(), segmentSuffix)
		first, err := strconv.ParseUint(number, 10, 64)
		if is && err == nil && each.Type().IsRegular() {
			found = append(found, segment{path: filepath.Join(dir, each.Name()), first: first})
		}
	}
	slices.SortFunc(found, func(a, b segment) int { return int(min(max(int64(a.first)-int64(b.first), -1), 1)) })
	return found, nil
}

// chainNames returns the names of the chains that have a folder.
func chainNames(dir string) (map[string]bool, error) {
	left, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, each := range left {
		if each.IsDir() && validChain.MatchString(each.Name()) {
			names[each.Name()] = true
		}
	}
	return names, nil
}

// openChain opens a chain whose signed head is given; an empty head means that the chain is new or unsigned. It continues from the signed
// head even if the files do not contain that entry: the gap shows that entries are missing.
func openChain(dir, name string, signed Head) (c *chain, repaired string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	c = &chain{dir: dir, name: name, head: signed}
	if signed.Seq == 0 {
		c.head = Head{Hash: genesis, First: 1, Base: genesis}
	}
	if c.segments, err = segmentsOf(dir); err != nil {
		return nil, "", err
	}
	for i := range c.segments {
		// A file that cannot be read has no base; Verify reports it.
		_ = eachLine(c.segments[i].path, func(raw []byte, _ int64) error {
			_, prev, err := decode(name, raw)
			c.segments[i].base = prev
			return errors.Join(err, io.EOF)
		})
	}
	if len(c.segments) == 0 {
		return c, "", nil
	}
	whole, err := c.catchUp(signed)
	if err != nil {
		return nil, "", err
	}
	last := c.segments[len(c.segments)-1]
	if c.file, err = os.OpenFile(last.path, os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, "", err
	}
	info, err := c.file.Stat()
	if err != nil {
		return nil, "", errors.Join(err, c.file.Close())
	}
	if c.size = info.Size(); c.size > whole {
		// The bytes after the last whole entry that continues the chain, and after the signed head, are those of a crash.
		repaired = fmt.Sprintf("removed %d bytes after entry %d", c.size-whole, c.head.Seq)
		if err := c.file.Truncate(whole); err != nil {
			return nil, "", errors.Join(err, c.file.Close())
		}
		c.size = whole
	}
	c.unsaved = true
	return c, repaired, nil
}

// catchUp moves the head over the entries behind the signed one. It returns the offset in the last file after the last entry that may
// stay: all lines up to the signed head stay, whatever they contain, because they may be evidence.
func (c *chain) catchUp(signed Head) (whole int64, err error) {
	behind := signed.Seq == 0
	for i, each := range c.segments {
		if i+1 < len(c.segments) && c.segments[i+1].first <= signed.Seq {
			continue
		}
		whole, behind = 0, behind || each.first > signed.Seq
		err = eachLine(each.path, func(raw []byte, end int64) error {
			e, prev, err := decode(c.name, raw)
			switch {
			case !behind:
				behind, whole = err == nil && e.Hash == signed.Hash, end
				return nil
			case err != nil || prev != c.head.Hash || e.Seq != c.head.Seq+1:
				return io.EOF
			}
			c.head.Seq, c.head.Hash, whole = e.Seq, e.Hash, end
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return whole, nil
}

// append writes an entry.
func (c *chain) append(b Body, most int64) error {
	raw, hash, err := encode(c.name, c.head.Hash, b)
	if err != nil {
		return err
	}
	if c.file == nil || c.size+int64(len(raw)) > most {
		if err := c.begin(b.Seq); err != nil {
			return err
		}
	}
	n, err := c.file.Write(raw)
	if err != nil {
		// A full disk may have taken a part of the line.
		if n > 0 {
			err = errors.Join(err, c.file.Truncate(c.size))
		}
		return err
	}
	c.size, c.unsaved = c.size+int64(n), true
	c.head.Seq, c.head.Hash = b.Seq, hash
	return nil
}

// begin begins a file, and drops the oldest one of a long chain.
func (c *chain) begin(first uint64) error {
	path := filepath.Join(c.dir, fmt.Sprintf("%012d%s", first, segmentSuffix))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if c.file != nil {
		if err := errors.Join(c.file.Sync(), c.file.Close()); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	c.file, c.size = file, 0
	c.segments = append(c.segments, segment{path, first, c.head.Hash})
	for len(c.segments) > mostSegments {
		c.dropped = append(c.dropped, c.segments[0].path)
		c.segments = c.segments[1:]
		c.head.First, c.head.Base = c.segments[0].first, c.segments[0].base
	}
	return nil
}

func (c *chain) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// eachLine calls see with each whole line of a file without its end, and the offset after it. The error io.EOF of see ends the reading.
// A line longer than an entry is cut into pieces, which are no entries.
func eachLine(path string, see func(raw []byte, end int64) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, offset := bufio.NewReaderSize(file, maxEntry+1), int64(0)
	for {
		raw, err := lines.ReadSlice('\n')
		offset += int64(len(raw))
		switch {
		case errors.Is(err, io.EOF):
			return nil // the rest is no whole line
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		if err := see(bytes.TrimSuffix(raw, []byte("\n")), offset); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
