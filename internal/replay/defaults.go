package replay

import "slices"

// defaultsKey is the input in which the bridge of a Terraform provider lists the inputs that it has set itself
// (pulumi/pulumi-terraform-bridge, pkg/tfbridge). The provider's next run sets them again.
const defaultsKey = "__defaults"

// withoutDefaults returns inputs without those that a bridged provider has set itself, except for generated names: with another name, the
// resource would be another one.
func withoutDefaults(values map[string]any) map[string]any {
	set, _ := values[defaultsKey].([]any)
	made := make(map[string]any, len(values))
	for name, value := range values {
		if name == defaultsKey || name != "name" && slices.Contains(set, any(name)) {
			continue
		}
		made[name] = withoutDefaultsIn(value)
	}
	return made
}

func withoutDefaultsIn(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return withoutDefaults(value)
	case []any:
		made := make([]any, len(value))
		for i, each := range value {
			made[i] = withoutDefaultsIn(each)
		}
		return made
	}
	return value
}
