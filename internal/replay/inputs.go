package replay

import (
	"encoding/base64"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// internalKey is the input of providers in which the engine keeps how it has found the plugin.
const internalKey = "__internal"

// inputs returns the inputs of a resource in the new place, with the resources that each depends on.
func (p *program) inputs(r *promise) pulumi.Map {
	values := p.words.Map(r.In)
	delete(values, internalKey)
	made := pulumi.Map{}
	for name, value := range values {
		converted := input(value)
		if needed := p.resources(r.PropertyDependencies[name]); len(needed) > 0 {
			converted = p.depend(converted, needed)
		}
		made[string(name)] = converted
	}
	return made
}

// depend makes an input depend on resources, part by part: an output with a secret in it is a secret as a whole, and the parts that are
// none must stay readable for a plan, which sees placeholders of secrets.
func (p *program) depend(in pulumi.Input, on []pulumi.Resource) pulumi.Input {
	switch in := in.(type) {
	case nil:
		return nil
	case pulumi.Map:
		made := make(pulumi.Map, len(in))
		for name, each := range in {
			made[name] = p.depend(each, on)
		}
		return made
	case pulumi.Array:
		made := make(pulumi.Array, len(in))
		for i, each := range in {
			made[i] = p.depend(each, on)
		}
		return made
	}
	return pulumi.OutputWithDependencies(p.ctx.Context(), pulumi.ToOutput(in), on...)
}

// resources returns the registered resources of some URNs.
func (p *program) resources(urns []resource.URN) (all []pulumi.Resource) {
	for _, urn := range urns {
		if each := p.made[urn]; each != nil && each.made != nil {
			all = append(all, each.made)
		}
	}
	return all
}

// options returns the options of a resource.
func (p *program) options(r *promise) []pulumi.ResourceOption {
	options := []pulumi.ResourceOption{pulumi.Protect(r.Protect), pulumi.RetainOnDelete(r.RetainOnDelete), pulumi.DependsOn(p.resources(r.Dependencies))}
	if parent := p.made[r.Parent]; parent != nil && parent.made != nil {
		options = append(options, pulumi.Parent(parent.made))
	}
	if with := p.resources([]resource.URN{r.DeletedWith}); len(with) == 1 {
		options = append(options, pulumi.DeletedWith(with[0]))
	}
	if len(r.AdditionalSecretOutputs) > 0 {
		var names []string
		for _, name := range r.AdditionalSecretOutputs {
			names = append(names, string(name))
		}
		options = append(options, pulumi.AdditionalSecretOutputs(names))
	}
	if len(r.ReplaceOnChanges) > 0 {
		options = append(options, pulumi.ReplaceOnChanges(r.ReplaceOnChanges))
	}
	if len(r.IgnoreChanges) > 0 {
		options = append(options, pulumi.IgnoreChanges(r.IgnoreChanges))
	}
	by := p.made[r.providerURN()]
	switch {
	case by == nil:
	case by.isDefault():
		if version, ok := by.In["version"]; ok && version.IsString() {
			options = append(options, pulumi.Version(version.StringValue()))
		}
	default:
		if own, ok := by.made.(pulumi.ProviderResource); ok {
			options = append(options, pulumi.Provider(own))
		}
	}
	return options
}

// packageOf returns the reference of a resource's package if the plugin has it by a parameter; otherwise it is empty.
func (p *program) packageOf(r *promise) (string, error) {
	by := r.Resource
	if !r.isProvider() {
		if p.made[r.providerURN()] == nil {
			return "", nil
		}
		by = p.made[r.providerURN()].Resource
	}
	hidden, ok := by.In[internalKey]
	if !ok || !hidden.IsObject() {
		return "", nil
	}
	text := func(in resource.PropertyMap, name string) string {
		if value, ok := in[resource.PropertyKey(name)]; ok && value.IsString() {
			return value.StringValue()
		}
		return ""
	}
	parameter := text(hidden.ObjectValue(), "parameterization")
	if parameter == "" {
		return "", nil
	}
	value, err := base64.StdEncoding.DecodeString(parameter)
	if err != nil {
		return "", err
	}
	// The input "version" is that of the package, and the hidden one is that of the plugin.
	request := &pulumirpc.RegisterPackageRequest{
		Name: text(hidden.ObjectValue(), "name"), Version: text(hidden.ObjectValue(), "version"), DownloadUrl: text(hidden.ObjectValue(), "pluginDownloadURL"),
		Parameterization: &pulumirpc.Parameterization{Name: string(by.Type)[len(providers):], Version: text(by.In, "version"), Value: value},
	}
	return p.ctx.GetOrRegisterPackageRef(string(by.URN), func() (*pulumirpc.RegisterPackageRequest, error) { return request, nil })
}

// input returns a value as an input.
func input(value resource.PropertyValue) pulumi.Input {
	switch {
	case value.IsSecret():
		return pulumi.ToSecret(input(value.SecretValue().Element))
	case value.IsString():
		return pulumi.String(value.StringValue())
	case value.IsNumber():
		return pulumi.Float64(value.NumberValue())
	case value.IsBool():
		return pulumi.Bool(value.BoolValue())
	case value.IsArray():
		made := make(pulumi.Array, 0, len(value.ArrayValue()))
		for _, each := range value.ArrayValue() {
			made = append(made, input(each))
		}
		return made
	case value.IsObject():
		return inputs(value.ObjectValue())
	}
	return nil
}

// inputs returns values as inputs.
func inputs(values resource.PropertyMap) pulumi.Map {
	made := pulumi.Map{}
	for name, value := range values {
		if converted := input(value); converted != nil {
			made[string(name)] = converted
		}
	}
	return made
}
