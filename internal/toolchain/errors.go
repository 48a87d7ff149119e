package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// A commandError is the failure of a program, with its command line and output.
type commandError struct {
	args   []string
	output string
	err    error
}

func (e *commandError) Error() string {
	var line []string
	for _, arg := range e.args {
		if strings.ContainsAny(arg, " \"'") {
			arg = strconv.Quote(arg)
		}
		line = append(line, arg)
	}
	return fmt.Sprintf("%s: %v: %s", strings.Join(line, " "), e.err, strings.Join(strings.Fields(e.output), " "))
}

func (e *commandError) Unwrap() error { return e.err }

// ErrNoGo means that no go command is on PATH.
var ErrNoGo = errors.New("no Go on PATH")

// Remedies that several failures share.
const (
	installGo  = "install it from https://go.dev/dl"
	checkProxy = "check the network and go env GOPROXY GOSUMDB"
)

// failures maps messages of the go command to clearer ones.
var failures = []struct {
	says  *regexp.Regexp
	means string // a template for Regexp.Expand
}{
	{
		regexp.MustCompile(`requires go >= (\S+) \(running go ([^;)]+)`),
		"the Go on PATH, ${2}, is too old: ${1} is needed: " + installGo + ", or let Go fetch it with GOTOOLCHAIN=auto",
	},
	{
		// Go before 1.21 does not know such versions.
		regexp.MustCompile(`invalid go version '([^']+)': must match format`),
		"the Go on PATH is too old: ${1} is needed: " + installGo,
	},
	{
		regexp.MustCompile(`go: download go(\S+?)(?: for \S+)?: (.+)`),
		"the Go on PATH is too old: ${1} is needed and cannot be fetched (${2}): " + installGo,
	},
	{
		regexp.MustCompile(`go: downloading (\S+) (\S+)\n.*(module lookup disabled by \S+)`),
		"module ${1}@${2} is not available: ${3}: " + checkProxy,
	},
	{
		regexp.MustCompile(`(?m)([\w.!/~-]+\.[\w.!/~-]+@v[\w.+-]+): (.*\S)\s*$`),
		"module ${1} is not available: ${2}: " + checkProxy,
	},
	{
		regexp.MustCompile(`(/\S+): (read-only file system|permission denied)`),
		"Go cannot write ${1} (${2}): make it writable, or name other folders in GOCACHE, GOMODCACHE and GOTMPDIR",
	},
}

// explain replaces an error that has a known remedy by one line with the remedy. It returns other errors unchanged.
func explain(err error, cache string) error {
	var output string
	failed := (*commandError)(nil)
	if errors.As(err, &failed) {
		output = failed.output
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w, and not all tools are in the cache: take them from a release with `strata toolchain fetch`, "+
			"or install Go from https://go.dev/dl, put it on PATH, and Strata builds them", ErrNoGo)
	case errors.Is(err, syscall.ENOSPC), strings.Contains(output, "no space left on device"),
		errors.Is(err, syscall.EDQUOT), strings.Contains(output, "disk quota exceeded"):
		return fmt.Errorf("the disk is full: free some space for %s and for Go's own caches (go env GOCACHE GOMODCACHE)", cache)
	case failed == nil && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)):
		return fmt.Errorf("the cache %s cannot be written: %w: make it writable, or set XDG_CACHE_HOME to a writable folder", cache, err)
	}
	for _, f := range failures {
		if m := f.says.FindStringSubmatchIndex(output); m != nil {
			return errors.New(string(f.says.ExpandString(nil, f.means, output, m)))
		}
	}
	return err
}
