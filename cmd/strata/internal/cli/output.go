package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/terminal"
)

// Formats of the output.
const (
	formatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
)

// Formats are the values of the flag -o.
var Formats = []string{formatText, formatJSON, formatYAML}

// OutputFlag is the name of the flag -o.
const OutputFlag = "output"

// Output is the flag -o. Every command that prints data has it.
type Output struct{ format format }

// format is the value of the flag, and the formats that only this command has.
type format struct {
	name string
	more []string
}

func (f *format) String() string { return f.name }
func (f *format) Type() string   { return "string" }

// Set sets the format. An unknown format is an error before the command does anything.
func (f *format) Set(name string) error {
	if all := f.all(); !slices.Contains(all, name) {
		return fmt.Errorf("unknown output %q: use %s", name, choice(all))
	}
	f.name = name
	return nil
}

func (f *format) all() []string { return append(slices.Clone(Formats), f.more...) }

// choice returns "a, b or c".
func choice(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Bind adds the flag to a command, which may have more formats than all commands: it prints those itself.
func (o *Output) Bind(command *cobra.Command, more ...string) {
	o.format = format{name: formatText, more: more}
	command.Flags().VarP(&o.format, OutputFlag, "o", "output format: "+choice(o.format.all()))
	_ = command.RegisterFlagCompletionFunc(OutputFlag, cobra.FixedCompletions(o.format.all(), cobra.ShellCompDirectiveNoFileComp))
}

// Text reports whether the output is text for people.
func (o *Output) Text() bool { return o.format.name == formatText }

// Print prints the result of a command: value as a document of the chosen format, or by the function text.
func (o *Output) Print(w io.Writer, value any, text func() error) error {
	switch o.format.name {
	case formatJSON:
		return render.JSON(w, value)
	case formatYAML:
		return render.YAML(w, value)
	}
	return text()
}

// Stream returns a function that prints a document for each value that differs from the previous one: with json a line, with
// yaml a document that begins with "---". It returns nil for text.
func (o *Output) Stream(w io.Writer) func(value any) error {
	if o.Text() {
		return nil
	}
	var last []byte
	return func(value any) error {
		raw, err := json.Marshal(value)
		if err != nil || bytes.Equal(raw, last) {
			return err
		}
		last = raw
		if o.format.name == formatJSON {
			_, err = fmt.Fprintln(w, string(terminal.JSON(raw)))
			return err
		}
		if _, err := fmt.Fprintln(w, "---"); err != nil {
			return err
		}
		return render.YAML(w, value)
	}
}
