package parameter

import (
	"strings"
	"testing"

	sdk "github.com/strata-platform/strata/sdks/flux"
)

func TestValue(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"the SDK's own provider": {value: `{"remote":{"url":"` + sdk.Source + `","version":"` + sdk.Version + `"}}`},
		"another provider":       {`{"remote":{"url":"registry.opentofu.org/hashicorp/random","version":"3.6.0"}}`, `"registry.opentofu.org/hashicorp/random", version "3.6.0"`},
		"another version":        {`{"remote":{"url":"` + sdk.Source + `","version":"1.8.5"}}`, `version "1.8.5"`},
		"a provider on disk":     {`{"local":{"path":"/tmp/provider"}}`, "no published Terraform provider"},
		"no JSON":                {"x", "no published Terraform provider"},
	} {
		t.Run(name, func(t *testing.T) { assertRefused(t, Value([]byte(test.value)), test.want) })
	}
}

func TestArgs(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"the provider":                    {args: []string{"fluxcd/flux"}},
		"the provider and its version":    {args: []string{"fluxcd/flux", sdk.Version}},
		"the provider in its registry":    {args: []string{sdk.Source, sdk.Version}},
		"the provider in another version": {[]string{"fluxcd/flux", "1.0.0"}, `version "1.0.0"`},
		"another provider":                {[]string{"hashicorp/random"}, `"hashicorp/random"`},
		"a provider on disk":              {[]string{"./provider"}, `"./provider"`},
		"no provider":                     {nil, "0 arguments"},
	} {
		t.Run(name, func(t *testing.T) { assertRefused(t, Args(test.args), test.want) })
	}
}

// assertRefused asserts an error in one line that contains want, or no error if want is empty.
func assertRefused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err == nil:
	case err == nil, want == "", !strings.Contains(err.Error(), want), strings.Contains(err.Error(), "\n"), !strings.Contains(err.Error(), " only"):
		t.Errorf("error is %v, want %q", err, want)
	}
}
