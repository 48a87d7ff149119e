package logfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

func TestALogIsReadAsItWasWritten(t *testing.T) {
	long := strings.Repeat("a long line ", 10_000)
	for name, text := range map[string]string{
		"nothing":            "",
		"lines":              "one\ntwo\n",
		"empty lines":        "\n\none\n\n",
		"longer than a part": "before\n" + long + "\nafter\n",
		"bytes of no text":   "\x00\xff\r\n",
	} {
		for _, stamps := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stamps: %v", name, stamps), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "logs", "program.log")
				written(t, path, stamps, text)
				if got := read(t, path, logfile.Options{}); got != text {
					t.Errorf("the log is %.80q (%d bytes), want %.80q (%d bytes)", got, len(got), text, len(text))
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the log is not for its owner alone: %v, %v", info, err)
				}
			})
		}
	}
}

func TestALineWithoutAnEndIsEndedWhenTheProgramEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	for _, text := range []string{"first run", "second run"} {
		written(t, path, true, text)
	}
	if got, want := read(t, path, logfile.Options{}), "first run\nsecond run\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

func TestAWholeLineDoesNotWaitForTheNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	p := run(t, path, true)
	p.say("whole\nbegun")
	eventually(t, "the whole line is in the log", func() bool { return read(t, path, logfile.Options{}) == "whole\n" })
}

func TestSelection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	p := run(t, path, true)
	p.say("one\ntwo\n")
	eventually(t, "the first lines are in the log", func() bool { return strings.HasSuffix(read(t, path, logfile.Options{}), "two\n") })
	between := time.Now()
	p.say("three\nfour\n")
	p.end()
	lines := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		options logfile.Options
		want    string
	}{
		"all":                            {logfile.Options{}, "one\ntwo\nthree\nfour\n"},
		"the last lines":                 {logfile.Options{Tail: lines(1)}, "four\n"},
		"none of the last lines":         {logfile.Options{Tail: lines(0)}, ""},
		"more lines than there are":      {logfile.Options{Tail: lines(9)}, "one\ntwo\nthree\nfour\n"},
		"since a time":                   {logfile.Options{Since: between}, "three\nfour\n"},
		"since a time, of the last ones": {logfile.Options{Since: between, Tail: lines(3)}, "three\nfour\n"},
		"a limit":                        {logfile.Options{Limit: 6}, "one\ntw"},
		"a limit that is not reached":    {logfile.Options{Limit: 100}, "one\ntwo\nthree\nfour\n"},
		"a limit for the last lines":     {logfile.Options{Limit: 2, Tail: lines(1)}, "fo"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, path, test.options); got != test.want {
				t.Errorf("the log is %q, want %q", got, test.want)
			}
		})
	}
}

func TestStampsSayWhen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	before := time.Now()
	written(t, path, true, "short\n"+strings.Repeat("x", 40_000)+"\n")
	after := time.Now()
	got := strings.Split(read(t, path, logfile.Options{Stamps: true}), "\n")
	if len(got) != 3 {
		t.Fatalf("there are %d lines, want two and the end", len(got))
	}
	for i, text := range []string{"short", strings.Repeat("x", 40_000)} {
		stamp, rest, _ := strings.Cut(got[i], " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || at.Before(before) || at.After(after) {
			t.Errorf("the stamp %q is not of between %s and %s (%v)", stamp, before, after, err)
		}
		if rest != text {
			t.Errorf("line %d is %.60q, want %.60q", i, rest, text)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F short\n`).Match(raw) {
		t.Errorf("the file begins %.60q (%v), not in the format of container runtimes", raw, err)
	}
}

func TestALogWithoutStampsShowsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	written(t, path, false, "one\n")
	if got := read(t, path, logfile.Options{Stamps: true}); got != "one\n" {
		t.Errorf("the log is %q", got)
	}
}

// fill returns lines of 64 bytes each, numbered from first.
func fill(first, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %058d\n", first+i)
	}
	return text.String()
}

const linesPerFile = logfile.MaxSize / 64

func TestALogIsBoundedWhileTheProgramRuns(t *testing.T) {
	for _, stamps := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "program.log")
		p := run(t, path, stamps)
		const step, steps = 4096, 3 * linesPerFile / 4096
		for i := range steps {
			p.say(fill(i*step, step))
		}
		p.end()
		if now, before := size(t, path), size(t, path+".1"); now > logfile.MaxSize || before > logfile.MaxSize || before < logfile.MaxSize/2 {
			t.Errorf("the files have %d and %d bytes, want at most %d", now, before, logfile.MaxSize)
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(files) != 2 {
			t.Errorf("the log is %v (%v), want two files", files, err)
		}
		// The log keeps the end of the output, without a gap and in complete lines.
		got := read(t, path, logfile.Options{})
		n := len(got) / 64
		if n < linesPerFile/2 || got != fill(steps*step-n, n) {
			t.Errorf("%d lines are kept, and they are not the last that were written", n)
		}
		tail := int64(3)
		if got := read(t, path, logfile.Options{Tail: &tail}); got != fill(steps*step-3, 3) {
			t.Errorf("the last lines are %q", got)
		}
	}
}

func TestTheLastLinesReachIntoTheFileThatWasPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	if err := errors.Join(os.WriteFile(path+".1", []byte("one\ntwo\n"), 0o600), os.WriteFile(path, []byte("three\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	tail := int64(2)
	if got := read(t, path, logfile.Options{Tail: &tail}); got != "two\nthree\n" {
		t.Errorf("the last lines are %q", got)
	}
}

func TestALogIsFollowedOverItsRotationUntilItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	p := run(t, path, true)
	p.say(fill(0, 1))
	var running atomic.Bool
	running.Store(true)
	var got lockedBuffer
	read := make(chan error, 1)
	go func() { read <- logfile.Read(t.Context(), path, logfile.Options{Follow: running.Load}, &got) }()
	want := 1
	// Each step waits for the reader, because no reader can follow a program that fills a whole file between two
	// checks.
	const step = 32768
	for want < 3*linesPerFile {
		p.say(fill(want, step))
		want += step
		eventually(t, "the reader has caught up", func() bool { return strings.HasSuffix(got.String(), fill(want-1, 1)) })
	}
	p.say(fill(want, 1))
	p.end()
	running.Store(false)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if got.String() != fill(0, want+1) {
		t.Errorf("%d lines were read, want %d without a gap", len(got.String())/64, want+1)
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	written(t, path, false, "one\n")
	ctx, cancel := context.WithCancel(t.Context())
	var got lockedBuffer
	read := make(chan error, 1)
	go func() {
		read <- logfile.Read(ctx, path, logfile.Options{Follow: func() bool { return true }}, &got)
	}()
	eventually(t, "the line is read", func() bool { return got.String() == "one\n" })
	cancel()
	if err := <-read; err != nil {
		t.Error(err)
	}
}

func TestFollowingEndsWithTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	p := run(t, path, true)
	p.say("first run\n")
	var got lockedBuffer
	var running atomic.Bool
	running.Store(true)
	read := make(chan error, 1)
	go func() { read <- logfile.Read(t.Context(), path, logfile.Options{Follow: running.Load}, &got) }()
	eventually(t, "the log is followed", func() bool { return got.String() == "first run\n" })
	p.say("last word\n")
	p.end()
	running.Store(false)
	if err := logfile.Rename(path, logfile.Previous(path)); err != nil {
		t.Fatal(err)
	}
	written(t, path, true, "second run\n")
	if err := <-read; err != nil {
		t.Error(err)
	}
	if got.String() != "first run\nlast word\n" {
		t.Errorf("the reader of the first run has read %q", got.String())
	}
}

func TestRenameMovesAllFilesOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.log")
	previous := logfile.Previous(path)
	for file, text := range map[string]string{path: "b\n", path + ".1": "a\n", previous: "stale\n", previous + ".1": "stale\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := logfile.Rename(path, previous); err != nil {
		t.Fatal(err)
	}
	if got := read(t, previous, logfile.Options{}); got != "a\nb\n" {
		t.Errorf("the log under its new path is %q", got)
	}
	err := logfile.Read(t.Context(), path, logfile.Options{}, &strings.Builder{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("to read the log under its old path: %v", err)
	}
	if err := logfile.Rename(path, previous); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("a log that is not there took the place of %v (%v)", left, err)
	}
}
