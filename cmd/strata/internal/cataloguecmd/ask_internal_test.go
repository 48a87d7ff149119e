package cataloguecmd

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/strata-platform/strata/catalogue"
)

func TestAskReadsEachFieldUntilItsAnswerIsAValue(t *testing.T) {
	entry, err := catalogue.Load(catalogue.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	// The fields are engine, onDelete and size.
	values, err := ask(strings.NewReader("\nsteal\x1b[2J\ndelete\nsmall\n"), &out, entry)
	if want := (map[string]string{"onDelete": "delete", "size": "small"}); err != nil || !maps.Equal(values, want) {
		t.Errorf("values %v, error %v, want %v", values, err, want)
	}
	for _, want := range []string{"  mysql [mysql]: ", "  keep|delete [keep]: ", `steal\x1b[2J is not one of keep, delete`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the form does not contain %q:\n%s", want, out.String())
		}
	}
	if _, err := ask(strings.NewReader("\n"), &out, entry); err == nil || !strings.Contains(err.Error(), "--set") {
		t.Errorf("error %v for a form that is not complete", err)
	}
}
