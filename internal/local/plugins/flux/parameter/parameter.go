// Package parameter checks the parameter with which a program selects a Terraform provider.
package parameter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/strata-platform/strata/sdks/flux"
)

// Value returns an error unless the value, which an SDK contains, selects the Terraform provider of package sdk.
func Value(value []byte) error {
	var v struct {
		Remote *struct{ URL, Version string }
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil || v.Remote == nil {
		return fmt.Errorf("the value selects no published Terraform provider: %s", only())
	}
	return selects(v.Remote.URL, v.Remote.Version)
}

// Args returns an error unless the arguments of `pulumi package add` select the Terraform provider of package sdk.
func Args(args []string) error {
	switch len(args) {
	case 1:
		return selects(args[0], sdk.Version)
	case 2:
		return selects(args[0], args[1])
	default:
		return fmt.Errorf("%d arguments, want the Terraform provider and its version: %s", len(args), only())
	}
}

// selects returns an error unless the address and the version are those of the Terraform provider. Like the plugin that this
// one stands in for, it accepts an address without the registry.
func selects(address, version string) error {
	_, short, _ := strings.Cut(sdk.Source, "/")
	if address != sdk.Source && address != short || version != sdk.Version {
		return fmt.Errorf("it selects the Terraform provider %q, version %q: %s", address, version, only())
	}
	return nil
}

func only() string {
	return fmt.Sprintf("the local plugin serves %s %s only", sdk.Source, sdk.Version)
}
