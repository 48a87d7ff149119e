package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen returns the terminal behind w. It returns nil if w is not a terminal, and for a terminal that only prints lines: its
// type, the variable TERM, is dumb.
func Screen(w io.Writer) *os.File {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// Typed reports whether the input r comes from a terminal, and so from a person.
func Typed(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colored reports whether text on w may have colors: w is a terminal with a screen, and the user has not set NO_COLOR
// (https://no-color.org).
func Colored(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && Screen(w) != nil }
