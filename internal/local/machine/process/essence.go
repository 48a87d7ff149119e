package process

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// tailSize is how many bytes of a program's last output are kept for a message.
const tailSize = 8 << 10

// maxEssence is the maximum length of an essence in bytes.
const maxEssence = 400

// fatal matches the line with a program's reason for exiting. A stack trace or a usage may follow that line. The
// pattern covers Go's runtime, command lines, klog, and loggers that write JSON or key=value.
var fatal = regexp.MustCompile(`(?m)^(?:panic: |fatal error: |Error: |F\d{4} |.*"level":"(?:fatal|panic)"|.*\blevel=(?:fatal|panic)\b).*$`)

// klogHeader matches klog's prefix of a message: severity, date, time, thread and place.
var klogHeader = regexp.MustCompile(`^[IWEF]\d{4} \S+\s+\d+ \S+\] `)

// Essence returns, in one line, the reason for a program's end from its output: the line of a panic or a fatal error,
// or else the last line.
func Essence(output []byte) string {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	line := lines[len(lines)-1]
	if found := fatal.FindAll(output, -1); len(found) > 0 {
		line = found[len(found)-1]
	}
	line = klogHeader.ReplaceAll(bytes.TrimSpace(line), nil)
	text := string(line)
	var entry struct{ Msg, Error string }
	if json.Unmarshal(line, &entry) == nil && entry.Msg != "" {
		text = entry.Msg
		if entry.Error != "" {
			text += ": " + entry.Error
		}
	}
	if len(text) > maxEssence {
		text = strings.ToValidUTF8(text[:maxEssence], "") + "…"
	}
	return text
}

// tail keeps the end of the data written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}
