package process

import (
	"bytes"
	"os"
)

// Tail returns the end of a log file, at most 8 KiB. It returns nil if the file is not readable.
func Tail(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-tailSize)
	buf := make([]byte, info.Size()-from)
	n, _ := f.ReadAt(buf, from)
	return buf[:n]
}

// LastLine returns the last line of a log file that is not empty, for use in an error.
func LastLine(path string) string {
	lines := bytes.Split(bytes.TrimSpace(Tail(path)), []byte("\n"))
	return string(bytes.TrimSpace(lines[len(lines)-1]))
}
