package status

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style configures how to print a report.
type Style struct {
	// Width is the width of a line, beyond which it is cut; 0 means unknown, with generous limits.
	Width int
	// Height is the maximum number of lines; 0 means unknown, which is treated as 60.
	Height int
	// Color distinguishes ready from unready items by color, for a terminal.
	Color bool
}

type printer struct {
	w     io.Writer
	style Style
}

// line prints a line whose middle part has a color.
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
