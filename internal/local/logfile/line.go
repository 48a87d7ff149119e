package logfile

import (
	"bytes"
	"time"
)

// The format of container runtimes: the time, the stream, whether the line ends here, and the text. The two streams of
// a program are one here, so that what it said stays in order.
const (
	stampFormat = "2006-01-02T15:04:05.000000000Z"
	wholeMark   = " stdout F "
	partMark    = " stdout P "
)

// line is a line of a log file.
type line struct {
	// stamp is when it was written, as text; nil where the log has no stamps.
	stamp []byte
	at    time.Time
	// text is the line with its line feed, or a part of one that goes on in the next line of the file.
	text []byte
}

// parse takes a line of a log file apart.
func parse(raw []byte) line {
	const head = len(stampFormat) + len(wholeMark)
	if len(raw) < head {
		return line{text: raw}
	}
	mark := string(raw[len(stampFormat):head])
	if mark != wholeMark && mark != partMark {
		return line{text: raw}
	}
	at, err := time.Parse(stampFormat, string(raw[:len(stampFormat)]))
	if err != nil {
		return line{text: raw}
	}
	text := raw[head:]
	if mark == partMark {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	return line{stamp: raw[:len(stampFormat)], at: at, text: text}
}
