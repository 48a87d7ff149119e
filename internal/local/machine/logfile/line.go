package logfile

import (
	"bytes"
	"time"
)

// This is the format of container runtimes: the time, the stream, whether the line ends here, and the text. The log
// merges a program's two streams into one, to keep their order.
const (
	stampFormat = "2006-01-02T15:04:05.000000000Z"
	wholeMark   = " stdout F "
	partMark    = " stdout P "
)

// line is a line of a log file.
type line struct {
	// stamp is the time of the line as text, or nil if the log has no stamps.
	stamp []byte
	at    time.Time
	// text is the line with its line feed, or a part of a line that continues in the next line of the file.
	text []byte
}

// parse parses a line of a log file.
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
