package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

type thing struct {
	Name string `json:"name"`
}

// printed returns what a command with the flag prints.
func printed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	var o Output
	command := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return o.Print(&out, thing{"a\x1b"}, func() error { out.WriteString("text\n"); return nil })
	}}
	o.Bind(command)
	command.SetArgs(args)
	err := command.Execute()
	return out.String(), err
}

func TestTheFlagChoosesTheFormat(t *testing.T) {
	for args, want := range map[string]string{
		"":              "text\n",
		"-o text":       "text\n",
		"-o json":       "{\n  \"name\": \"a\\u001b\"\n}\n",
		"-o yaml":       "name: \"a\\e\"\n",
		"--output=yaml": "name: \"a\\e\"\n",
	} {
		if got, err := printed(t, strings.Fields(args)...); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", args, got, err, want)
		}
	}
}

func TestAnUnknownFormatFailsBeforeTheCommandRuns(t *testing.T) {
	got, err := printed(t, "-o", "xml")
	if want := `invalid argument "xml" for "-o, --output" flag: unknown output "xml": use text, json or yaml`; got != "" || err == nil || err.Error() != want {
		t.Errorf("got %q, error %v, want %s", got, err, want)
	}
}

func TestAStreamPrintsDifferentDocuments(t *testing.T) {
	for format, want := range map[string]string{
		"json": "{\"name\":\"a\"}\n{\"name\":\"b\"}\n",
		"yaml": "---\nname: a\n---\nname: b\n",
	} {
		var out bytes.Buffer
		var o Output
		if err := o.format.Set(format); err != nil {
			t.Fatal(err)
		}
		stream := o.Stream(&out)
		if err := errors.Join(stream(thing{"a"}), stream(thing{"a"}), stream(thing{"b"})); err != nil || out.String() != want {
			t.Errorf("%s: got %q (%v), want %q", format, out.String(), err, want)
		}
	}
}
