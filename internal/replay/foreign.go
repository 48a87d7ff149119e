package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// CheckForeign returns an error unless a state that others can write is safe to run: each resource belongs to one of the packages, and to a
// provider that the engine creates by itself. A provider of a Program names clusters and credentials, and the ones for Kubernetes commands.
func (s *State) CheckForeign(packages ...string) error {
	for _, r := range s.Resources {
		switch {
		case r.isProvider() && !r.isDefault():
			return fmt.Errorf("it has a provider of its own, %s", r.URN)
		case r.Custom && !r.isProvider() && !slices.Contains(packages, string(r.Type.Package())):
			return fmt.Errorf("its resource %s belongs to a package that a rehearsal does not have: it has %s", r.URN, strings.Join(packages, ", "))
		}
	}
	return nil
}

// Config returns the values of some keys in the configuration of the providers that the engine has created by itself, as in "gcp:project".
func (s *State) Config(keys ...string) auto.ConfigMap {
	config := auto.ConfigMap{}
	for _, r := range s.Resources {
		if !r.isDefault() {
			continue
		}
		for name, value := range r.In {
			key := strings.TrimPrefix(string(r.Type), providers) + ":" + string(name)
			if slices.Contains(keys, key) && value.IsString() {
				config[key] = auto.ConfigValue{Value: value.StringValue()}
			}
		}
	}
	return config
}
