package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

func TestWarningsOfARunAreNotLost(t *testing.T) {
	want := []string{"look at the bucket"}
	for name, got := range map[string][]string{
		"that succeeded": warnings(&engine.Result{Warnings: want}, nil),
		"that failed":    warnings(nil, fmt.Errorf("run: %w", &engine.Error{Warnings: want})),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("of a run %s: %v", name, got)
		}
	}
	if got := warnings(nil, errors.New("x")); got != nil {
		t.Errorf("of a run that never began: %v", got)
	}
}

func TestProviderOfSecretsIsChangedIfPossible(t *testing.T) {
	const kms = "gcpkms://key"
	for name, c := range map[string]struct {
		held    v1.ProjectInfo
		asked   string
		changes bool
		refused bool
	}{
		"a stack that is not there yet":  {v1.ProjectInfo{}, kms, false, false},
		"nothing said":                   {v1.ProjectInfo{Stack: "dev", SecretsProvider: kms}, "", false, false},
		"the same":                       {v1.ProjectInfo{Stack: "dev", SecretsProvider: kms}, kms, false, false},
		"from a passphrase to a key":     {v1.ProjectInfo{Stack: "dev"}, kms, true, false},
		"from a key to a passphrase":     {v1.ProjectInfo{Stack: "dev", SecretsProvider: kms}, "passphrase", false, true},
		"another name for a passphrase":  {v1.ProjectInfo{Stack: "dev"}, "passphrase", false, false},
		"the backend's own, as it was":   {v1.ProjectInfo{Stack: "dev", SecretsProvider: "passphrase"}, "default", false, false},
		"from a key to the default":      {v1.ProjectInfo{Stack: "dev", SecretsProvider: kms}, "default", false, true},
		"from one key to another of its": {v1.ProjectInfo{Stack: "dev", SecretsProvider: kms}, kms + "2", true, false},
	} {
		changes, err := changesProvider(&c.held, c.asked)
		if changes != c.changes || (err != nil) != c.refused {
			t.Errorf("%s: %v (%v)", name, changes, err)
		}
	}
}
