// Package terminal escapes and shortens text for a terminal. It is for text that a team chooses and the platform team
// reads: messages, names and outputs.
//
// A terminal interprets control characters. An escape sequence can move the cursor, set the clipboard, or send a response
// as if it were typed. A control character for bidirectional text (Unicode Standard Annex #9) can change the order of a
// line's words.
package terminal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostMarks is the maximum number of consecutive combining marks. More of them would cover the lines above and below.
const mostMarks = 4

// Escape escapes each character that is neither a newline, a tab nor printable, in the form of a Go string literal:
// "\x1b", "\u202e". It does not escape backslashes, so the result is for people and cannot be decoded.
func Escape(text string) string {
	if isSafe(text) {
		return text
	}
	var safe strings.Builder
	safe.Grow(len(text) + len(text)/8)
	marks := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&safe, `\x%02x`, text[i])
		case printable(r) && marks <= mostMarks:
			safe.WriteString(text[i : i+size])
		default:
			safe.WriteString(escaped(r))
		}
		i += size
	}
	return safe.String()
}

func isSafe(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || !printable(rune(c)) {
			return false
		}
	}
	return true
}

func printable(r rune) bool { return r == '\n' || r == '\t' || strconv.IsPrint(r) }

func escaped(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Line returns text as one escaped line of at most the given number of characters. It cuts a longer text in the middle,
// because the end of an error says what to do.
func Line(text string, most int) string {
	// Escaping never shortens text, so text beyond this limit would be cut in any case.
	if edge := most * utf8.UTFMax; len(text) > 2*edge {
		text = strings.ToValidUTF8(text[:edge], "") + " " + strings.Repeat("…", most) + " " + strings.ToValidUTF8(text[len(text)-edge:], "")
	}
	return Middle(Escape(strings.Join(strings.Fields(text), " ")), most)
}

// Middle shortens text to at most the given number of characters: it replaces characters in the middle by an ellipsis.
func Middle(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	// The beginning of an error names the object, which needs more room than the advice at the end.
	end := (most - 1) / 3
	return string(runes[:most-1-end]) + "…" + string(runes[len(runes)-end:])
}

// Lines returns at most mostLines lines of escaped text, each of at most mostCharacters characters. A last line counts
// the omitted lines.
func Lines(text string, mostLines, mostCharacters int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	more := len(lines) - mostLines
	if more > 0 {
		lines = lines[:mostLines]
	}
	for i, line := range lines {
		// Leading blanks indent the items of lists.
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		lines[i] = Middle(indent+Line(line, mostCharacters), mostCharacters)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

// JSON returns a JSON text with each unprintable character escaped within its string. The result decodes to the same
// value.
func JSON(text []byte) []byte {
	safe := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case printable(r) || size == 1 && r == utf8.RuneError:
			safe = append(safe, text[i:i+size]...)
		case r < 0x10000:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		default:
			const surrogates, half = 0x10000, 0x3ff
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, 0xd800+(r-surrogates)>>10, 0xdc00+(r-surrogates)&half)
		}
		i += size
	}
	return safe
}

// Writer escapes the text that is written through it. It limits neither lines nor characters. A write may end in the
// middle of a character.
type Writer struct {
	w    io.Writer
	rest []byte
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write escapes text and writes it to the underlying writer. It returns len(text), or the error of the underlying writer.
func (e *Writer) Write(text []byte) (int, error) {
	all := slices.Concat(e.rest, text)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if utf8.RuneStart(all[len(all)-back]) {
			if !utf8.FullRune(all[len(all)-back:]) {
				whole = len(all) - back
			}
			break
		}
	}
	e.rest = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(e.w, Escape(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes the remaining bytes of an incomplete character.
func (e *Writer) Flush() error {
	_, err := io.WriteString(e.w, Escape(string(e.rest)))
	e.rest = nil
	return err
}
