package render

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/strata-platform/strata/internal/terminal"
)

// JSON prints a whole JSON document. It escapes unprintable characters, so that a terminal can display it.
func JSON(w io.Writer, value any) error { return encode(w, value, "  ") }

// encode prints a JSON document and a newline. Unlike json.Marshal it does not write "List<Number>" with escapes that are for
// JSON in pages of HTML.
func encode(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(terminal.JSON(text.Bytes()))
	return err
}
