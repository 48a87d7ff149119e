package render

import (
	"encoding/json"
	"io"

	"github.com/strata-platform/strata/internal/terminal"
)

// JSON prints a whole JSON document. It escapes unprintable characters, so that a terminal can display it.
func JSON(w io.Writer, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(terminal.JSON(raw), '\n'))
	return err
}
