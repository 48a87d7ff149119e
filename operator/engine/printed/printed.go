// Package printed reads what the pulumi command has printed.
package printed

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// LastError returns the last error that the pulumi command itself printed, or an empty string.
func LastError(log string) string {
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		if text, ok := strings.CutPrefix(message.Tidy(line), "error: "); ok && text != "update failed" {
			return message.Shorten(text)
		}
	}
	return ""
}

// Locked reports whether pulumi failed because another update holds the lock of the stack.
func Locked(log string) bool {
	return strings.Contains(log, "the stack is currently locked by") || strings.Contains(log, "Another update is currently in progress")
}

// lock matches a line about a lock in pulumi's message: its user, host, process ID and
// time.
var lock = regexp.MustCompile(`created by (.*)@(\S+) \(pid (\d+)\) at (\S+)`)

// Holders returns who holds the locks that pulumi's message lists, in parentheses after a space, or an empty string.
func Holders(log string) string {
	var holders []string
	for _, match := range lock.FindAllStringSubmatch(log, -1) {
		holders = append(holders, fmt.Sprintf("%s@%s, process %s since %s", match[1], match[2], match[3], match[4]))
	}
	if holders == nil {
		return ""
	}
	return " (" + strings.Join(holders, "; ") + ")"
}

// StaleLocks reports whether every lock in pulumi's message belongs to a process of this host that no longer runs. name is the
// name of pulumi's program. The log must not be masked, because a secret may be a word in the lines about locks.
func StaleLocks(log, name string) bool {
	host, err := os.Hostname()
	matches := lock.FindAllStringSubmatch(log, -1)
	if err != nil || len(matches) == 0 {
		return false
	}
	for _, match := range matches {
		pid, err := strconv.Atoi(match[3])
		if err != nil || match[2] != host || processes.Running(pid, name) {
			return false
		}
	}
	return true
}
