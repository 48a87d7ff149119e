// Package browser opens a page in the browser of the desktop.
package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// ErrNone means that the machine has no desktop, or no program that opens pages.
var ErrNone = errors.New("no browser was found: open the page yourself, or set BROWSER")

// Open opens a page with the program in $BROWSER, or else with the desktop's. It does not wait for the program.
func Open(url string) error {
	command := opener(url, runtime.GOOS, os.Getenv, exec.LookPath)
	if command == nil {
		return ErrNone
	}
	cmd := exec.Command(command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open %s: %w", url, err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// opener returns the command that opens a page, or nil. BROWSER lists commands, separated by colons; %s in a command stands
// for the address, which is otherwise the last argument.
func opener(url, system string, env func(string) string, find func(string) (string, error)) []string {
	for command := range strings.SplitSeq(env("BROWSER"), ":") {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		if _, err := find(words[0]); err != nil {
			continue
		}
		if !strings.Contains(command, "%s") {
			return append(words, url)
		}
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "%s", url)
		}
		return words
	}
	program := "xdg-open"
	if system == "darwin" {
		program = "open"
	} else if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if _, err := find(program); err != nil {
		return nil
	}
	return []string{program, url}
}
