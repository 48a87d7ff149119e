package render

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/terminal"
)

// Status prints a report as a tree that fits the terminal.
func Status(w io.Writer, report status.Report) {
	_, style := screenOf(w)
	report.Print(w, style)
}

const (
	// promptLines is the number of lines for the command line and the prompt after the output. A watch uses them for its
	// own last line.
	promptLines = 2
	// lowestScreen is the minimum number of lines to print, even on a smaller terminal.
	lowestScreen = 10
)

// screenOf returns the terminal behind w, nil if w is not a terminal with a screen, and the style for w.
func screenOf(w io.Writer) (*os.File, status.Style) {
	f := terminal.Screen(w)
	if f == nil {
		return nil, status.Style{}
	}
	style := status.Style{Color: terminal.Colored(w)}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil {
		style.Width, style.Height = width, max(height-promptLines, lowestScreen)
	}
	return f, style
}
