package attack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/strata-platform/strata/test/stratatest"
)

// noise returns a text of the given size in bytes that hardly compresses.
func noise(bytes int) string {
	raw := make([]byte, bytes/2)
	_, _ = rand.Read(raw) // rand.Read never fails.
	return hex.EncodeToString(raw)
}

func sizeAttacks() []attack {
	outputs := func(name, body string) attack {
		return attack{name: name, class: tooBig, as: byRun, do: func(ctx context.Context, f *field) error {
			return f.mallory.try(ctx, body, "")
		}, says: `(?i)too (large|big|long|many)|exceed|at most|limit|can be recorded`, unharmed: statusIsAScreenful}
	}
	return []attack{
		outputs("outputs of 4 MB", doublings()+"  outputs: {large: '${v12}'}"),
		outputs("many outputs of 100 kB", doublings()+"  outputs: {"+repeated("a%d: '${v7}'", 40)+"}"),
		{"outputs with control characters", tooBig, byRun, withStack("  outputs: {\"\\e[2J\\e]0;mine\\a\": \"\\e[31m\\u202eready\\r\\n\\neverything is ready\\u2028\"}"), "", nil},
		{"a message with control characters", tooBig, byRun, withStack("  outputs: {a: {fn::readFile: \"/\\e[2J\\u202e\\neverything is ready\"}}"), "", nil},
		{"60 Stacks in one namespace", tooBig, byKubeconfig, whileServed(func(ctx context.Context, f *field) (func() error, error) {
			end, err := crowd(60)(ctx, f)
			if err == nil || errors.Is(err, errStopped) {
				err = statusIsAScreenful(ctx, f)
			}
			return end, err
		}), "", statusIsAScreenful},
	}
}

// doublings returns variables of a small Program. Each contains the previous one twice: v7 has 128 kB, v12 has 4 MB.
func doublings() string {
	var text strings.Builder
	text.WriteString("  variables:\n    v0: " + strings.Repeat("x", 1<<10) + "\n")
	for i := range 12 {
		fmt.Fprintf(&text, "    v%d: ${v%d}${v%d}\n", i+1, i, i)
	}
	return text.String()
}

func repeated(format string, times int) string {
	var parts []string
	for i := range times {
		parts = append(parts, fmt.Sprintf(format, i))
	}
	return strings.Join(parts, ", ")
}

// withStack reads the status while a Stack exists.
func withStack(body string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error {
		name := "shown-" + unique()[:8]
		err := f.mallory.start(ctx, name, body, "")
		if err == nil {
			_, err = f.mallory.outcome(ctx, name)
		}
		if err == nil || errors.Is(err, errStopped) {
			err = statusIsAScreenful(ctx, f)
		}
		return errors.Join(err, f.mallory.end(ctx, name))
	}
}

const (
	mostLines   = 75
	longestLine = 1200
)

// statusIsAScreenful returns an error if the output of `strata status` is too large.
func statusIsAScreenful(ctx context.Context, f *field) error {
	return screenful(ctx, f.platform)
}

func screenful(ctx context.Context, p *stratatest.Platform) error {
	// The exit code is 1 if an object is not ready.
	out, _ := p.Try(ctx, "status")
	text := string(out)
	if n := strings.Count(text, "\n"); n == 0 || n > mostLines {
		return fmt.Errorf("status prints %d lines:\n%.2000s", n, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := len([]rune(line)); n > longestLine {
			return fmt.Errorf("status prints a line of %d characters: %.200q", n, line)
		}
		for _, r := range line {
			if !unicode.IsPrint(r) {
				return fmt.Errorf("status prints %U in %.200q", r, line)
			}
		}
	}
	return nil
}
