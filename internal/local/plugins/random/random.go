// Package random contains the local plugin that stands in for the official random provider.
package random

import (
	sdk "github.com/pulumi/pulumi-random/sdk/v4/go/random"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// Version is the version of the official provider that the plugin stands in for: that of the SDK in go.mod.
const Version = "4.18.0"

// Package describes the plugin. Its resources exist only in the state of a stack.
func Package() frame.Package {
	return frame.Package{
		Name:        "random",
		Version:     Version,
		Description: "Random values, made by Strata's local stand-in for the official provider.",
		Config:      sdk.ProviderArgs{},
		Resources: map[string]frame.Resource{
			"random:index/randomId:RandomId":             randomID(),
			"random:index/randomInteger:RandomInteger":   integer(),
			"random:index/randomPassword:RandomPassword": password(),
			"random:index/randomPet:RandomPet":           pet(),
			"random:index/randomString:RandomString":     randomString(),
			"random:index/randomUuid:RandomUuid":         randomUUID(),
		},
	}
}
