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

// A commandError is the failure of a program, with the command line and what the program said.
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

var (
	tooOld  = regexp.MustCompile(`requires go >= (\S+) \(running go ([^;)]+)`)
	refused = regexp.MustCompile(`(?m)([\w.!/~-]+\.[\w.!/~-]+@v[\w.+-]+): (.+)$`)
)

// explain puts the failures that have a remedy of their own into a line that names it; it returns others as they are.
func explain(err error, cache string) error {
	var output string
	if failed := (*commandError)(nil); errors.As(err, &failed) {
		output = failed.output
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("no Go on PATH: Strata builds its tools from source: install Go from https://go.dev/dl and put it on PATH")
	case errors.Is(err, syscall.ENOSPC), strings.Contains(output, "no space left on device"):
		return fmt.Errorf("the disk is full: free some space for %s and for Go's own caches (go env GOCACHE GOMODCACHE)", cache)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the cache %s cannot be written: %w: make it writable, or set XDG_CACHE_HOME to a folder that is", cache, err)
	}
	if m := tooOld.FindStringSubmatch(output); m != nil {
		return fmt.Errorf("the Go on PATH, %s, is too old: %s is needed: install it from https://go.dev/dl, or let Go fetch it with GOTOOLCHAIN=auto", m[2], m[1])
	}
	if m := refused.FindStringSubmatch(output); m != nil {
		return fmt.Errorf("module %s was refused: %s: check the network and go env GOPROXY GOSUMDB", m[1], strings.TrimSpace(m[2]))
	}
	return err
}
