package deb

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The format of ar archives, from deb(5) and ar(5): a magic line, and a header of 60 bytes before each member. A member has an
// even number of bytes, with a newline as padding.
const (
	magic      = "!<arch>\n"
	headerSize = 60
	sizeOffset = 48
	sizeWidth  = 10
	nameWidth  = 16
)

// members reads the members of an ar archive.
type members struct {
	r io.Reader
	// current is the rest of the last member, and padding the number of bytes after it.
	current *io.LimitedReader
	padding int64
}

// newArchive reads the magic line.
func newArchive(r io.Reader) (*members, error) {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r, start); err != nil || string(start) != magic {
		return nil, errors.Join(errors.New("it is not an ar archive"), err)
	}
	return &members{r: r}, nil
}

// next returns the name and the content of the next member, and io.EOF after the last one. It invalidates earlier contents.
func (m *members) next() (string, io.Reader, error) {
	if m.current != nil {
		if _, err := io.Copy(io.Discard, m.current); err != nil {
			return "", nil, err
		}
		if m.current.N > 0 {
			return "", nil, io.ErrUnexpectedEOF
		}
		if _, err := io.CopyN(io.Discard, m.r, m.padding); err != nil && !errors.Is(err, io.EOF) {
			return "", nil, err
		}
	}
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(m.r, header); err != nil {
		return "", nil, err
	}
	name := strings.TrimSuffix(strings.TrimRight(string(header[:nameWidth]), " "), "/")
	size, err := strconv.ParseInt(strings.TrimSpace(string(header[sizeOffset:sizeOffset+sizeWidth])), 10, 64)
	if err != nil || size < 0 || string(header[headerSize-2:]) != "`\n" {
		return "", nil, fmt.Errorf("the header of member %q is damaged", name)
	}
	m.current, m.padding = &io.LimitedReader{R: m.r, N: size}, size%2
	return name, m.current, nil
}
