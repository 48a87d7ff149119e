// Package runlog keeps the end of what the commands of one run print, for readers who may see neither secrets nor control sequences
// for a terminal.
package runlog

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	// Size bounds the text of a log, in bytes.
	Size = 64 << 10

	// margin is how many bytes before the text the Log keeps, so that the mask finds a secret that begins before the text.
	margin = 64 << 10

	// longestLine bounds a line of the text, in bytes.
	longestLine = 4 << 10

	// Cut is the first line of a text whose oldest lines are missing.
	Cut = "[the oldest lines of this log are missing: Strata keeps the last 64 KiB]\n"

	// cutLine ends a line that is longer than longestLine.
	cutLine = "... [the line is too long]"
)

// Log is an io.Writer for the output of a run's commands. The zero Log is empty. Several goroutines may use a Log.
type Log struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// Write implements io.Writer, and never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	if over := len(l.data) - Size - margin; over > 0 {
		l.cut = true
		l.data = append(l.data[:0], l.data[over:]...)
	}
	return len(p), nil
}

// Reset empties the log. The engine repeats a command whose first attempt says nothing about the Stack.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data, l.cut = nil, false
}

// Text returns the whole lines at the end of the log, at most Size bytes and the line Cut. mask replaces the secrets in a text.
func (l *Log) Text(mask func(string) string) string {
	l.mu.Lock()
	text, cut := strings.ToValidUTF8(string(l.data), "\uFFFD"), l.cut
	l.mu.Unlock()
	if cut {
		// The first line may begin in the middle of a secret, which the mask cannot find.
		_, text, _ = strings.Cut(text, "\n")
	}
	// The first mask finds secrets that contain control characters, and the second those between which a program has printed some.
	lines := strings.Split(strings.Trim(mask(Clean(mask(text))), "\n"), "\n")
	kept, size := len(lines), 0
	for kept > 0 {
		line := &lines[kept-1]
		*line = shorten(strings.TrimRight(*line, " "))
		if size += len(*line) + 1; size > Size {
			cut = true
			break
		}
		kept--
	}
	text = strings.Join(lines[kept:], "\n")
	if text != "" {
		text += "\n"
	}
	if cut {
		return Cut + text
	}
	return text
}

func shorten(line string) string {
	if len(line) <= longestLine {
		return line
	}
	return strings.ToValidUTF8(line[:longestLine-len(cutLine)], "") + cutLine
}

// sequence matches the control sequences of terminals (ECMA-48): CSI with its parameters, strings such as OSC up to their end, and
// the short ones.
var sequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?`)

// Clean removes control sequences of terminals, and every character that is neither printable, a space, a tab nor the end of a line.
func Clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		if unicode.IsSpace(r) && !unicode.IsControl(r) && r != '\u2028' && r != '\u2029' {
			return ' '
		}
		return -1
	}, sequence.ReplaceAllString(text, ""))
}
