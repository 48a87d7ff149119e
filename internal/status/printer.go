package status

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style configures how to print a report.
type Style struct {
	// Width is the maximum width of a line in characters; 0 means unknown, with generous limits.
	Width int
	// Height is the maximum number of lines; 0 means 60.
	Height int
	// Color colors ready items green and others red, for a terminal.
	Color bool
}

// printer prints lines that fit the width of a screen.
type printer struct {
	w     io.Writer
	style Style
}

// line prints a line of three parts, and colors the middle one. An empty color means none.
func (p printer) line(before, color, colored, after string) {
	if p.style.Width > 0 {
		left := p.style.Width - utf8.RuneCountInString(before)
		colored = cut(colored, left)
		after = cut(after, left-utf8.RuneCountInString(colored))
	}
	if p.style.Color && color != "" {
		colored = color + colored + plain
	}
	fmt.Fprintln(p.w, strings.TrimRight(before+colored+after, " "))
}

// cut shortens a text to a width in characters, and ends a shortened text with an ellipsis.
func cut(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	return string(runes[:width-1]) + "…"
}
