package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// messageSize bounds the one line of a failure's message, in bytes.
const messageSize = 1000

var (
	ansi = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]|<\\{%[^%]*%\\}>")

	// counted matches the prefix by which providers introduce a list of errors.
	counted = regexp.MustCompile(`^(error: )?(\d+ errors? occurred: ?)(\* )?`)
)

// mostFaults bounds how many messages of each kind the engine keeps for the description
// of a failure.
const mostFaults = 100

// longestFault bounds how much of a message the engine processes, in bytes. The engine
// shows only the beginning of a message.
const longestFault = 64 << 10

// faults collects messages of the engine, the providers and the program.
type faults struct {
	// own holds errors of resources, general holds other errors, and program holds what
	// the program printed.
	own, general, program []string

	// more counts the errors beyond mostFaults.
	more int
}

func (f *faults) add(d *diagnostic, mask *mask) {
	// The first mask finds secrets of several lines, before tidy joins the lines. The
	// second finds secrets that only appear after the lines are joined.
	text := mask.apply(d.Message)
	text = mask.apply(tidy(text[:min(len(text), longestFault)]))
	keep := func(list *[]string, text string) {
		switch {
		case len(*list) > 0 && (*list)[len(*list)-1] == text:
		case len(*list) < mostFaults:
			*list = append(*list, shorten(text))
		case list != &f.program:
			f.more++
		}
	}
	switch {
	case text == "" || text == "update failed" || text == "preview failed" || strings.HasSuffix(text, ": no diagnostics"):
	case d.Severity == "error" && resourceName(d.URN) != "":
		keep(&f.own, resourceName(d.URN)+": "+text)
	case d.Severity == "error":
		keep(&f.general, text)
	case d.Severity == "info#err":
		keep(&f.program, text)
	}
}

// describe sets the message to the first error of a resource, or else to the first
// error, or else to what the program printed as it failed.
func (e *Error) describe(said *faults) {
	errs := slices.Compact(slices.Concat(said.own, said.general))
	switch {
	case len(errs) > 1:
		e.Message = shorten(fmt.Sprintf("%s (and %d more)", shorten(errs[0]), len(errs)+said.more-1))
	case len(errs) == 1:
		e.Message = shorten(errs[0])
	case len(said.program) > 0 && lastErrorLine(e.Log) == "":
		e.Message = shorten(strings.TrimPrefix(strings.Join(said.program, " "), "Error: "))
	}
}

// resourceName returns the name and type of a resource, or an empty string for the
// stack itself.
func resourceName(urn string) string {
	parts := strings.SplitN(urn, "::", 4)
	if len(parts) != 4 {
		return ""
	}
	kind := parts[2][strings.LastIndexByte(parts[2], '$')+1:]
	if kind == stackType {
		return ""
	}
	return fmt.Sprintf("%s (%s)", parts[3], kind)
}

// lastErrorLine returns the last error that the pulumi command itself printed.
func lastErrorLine(log string) string {
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		if text, ok := strings.CutPrefix(tidy(line), "error: "); ok && text != "update failed" {
			return shorten(text)
		}
	}
	return ""
}

func tidy(s string) string {
	return counted.ReplaceAllString(oneLine(excerpt.ReplaceAllString(ansi.ReplaceAllString(s, ""), "")), "")
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

func shorten(s string) string {
	if len(s) <= messageSize {
		return s
	}
	cut := messageSize
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// mask replaces secrets in text.
type mask struct {
	mu       sync.Mutex
	secrets  []string
	replacer *strings.Replacer
}

// shortestSecret is the length in bytes below which the engine does not mask a value. A
// mask for a shorter value would make ordinary text unreadable.
const shortestSecret = 4

func newMask(req Request) *mask {
	m := &mask{}
	m.add(append(slices.Collect(maps.Values(req.SecretConfig)), req.Secrets...)...)
	m.add(literalSecrets(req.Program)...)
	return m
}

// add masks further secrets from now on.
func (m *mask) add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets = append(m.secrets, secrets...)
	// Long secrets come first, because a long secret may contain a short one.
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	hide := func(secret string) {
		if len(secret) >= shortestSecret {
			pairs = append(pairs, secret, "[secret]")
		}
	}
	for _, secret := range m.secrets {
		hide(secret)
		// Messages show a secret of several lines on one line.
		if line := oneLine(secret); line != secret {
			hide(line)
		}
	}
	m.replacer = strings.NewReplacer(pairs...)
}

func (m *mask) apply(s string) string {
	m.mu.Lock()
	replacer := m.replacer
	m.mu.Unlock()
	return replacer.Replace(s)
}
