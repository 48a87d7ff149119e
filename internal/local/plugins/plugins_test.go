package plugins_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/strata-platform/strata/internal/local/plugins"
)

// TestMain runs the test binary as a plugin if its name is that of a plugin, like strata's own binary.
func TestMain(m *testing.M) {
	if name, ok := plugins.Name(os.Args[0]); ok {
		if err := plugins.Run(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestName(t *testing.T) {
	for arg0, want := range map[string]string{
		"/home/me/.strata/tools/pulumi-resource-gcp": "gcp",
		"pulumi-resource-random":                     "random",
		"/usr/local/bin/strata":                      "",
	} {
		name, ok := plugins.Name(arg0)
		if name != want && ok || ok != (want != "") {
			t.Errorf("Name(%q) is %q, %v; want %q", arg0, name, ok, want)
		}
	}
}

func TestRunRejectsUnknownProviders(t *testing.T) {
	if err := plugins.Run(t.Context(), "aws"); err == nil {
		t.Error("no error for provider aws")
	}
}
