package layers

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// HiddenSecret replaces the value of a secret.
const HiddenSecret = "[secret]"

// Outputs returns the outputs of a layer's last run, secrets in plain text; none if the layer has not run.
func (r Runner) Outputs(ctx context.Context, l Layer) (auto.OutputMap, error) {
	stack, err := r.open(ctx, l)
	if err != nil {
		return nil, r.unread(ctx, "outputs", l, err)
	}
	outputs, err := stack.Outputs(ctx)
	if NoStack(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.unread(ctx, "outputs", l, err)
	}
	return outputs, nil
}

// MaskedOutputs returns the outputs with HiddenSecret in place of every secret, even within lists and objects. It
// decrypts nothing.
func (r Runner) MaskedOutputs(ctx context.Context, l Layer) (map[string]any, error) {
	state, err := r.look(ctx, l)
	if err != nil {
		return nil, err
	}
	outputs := map[string]any{}
	for name, value := range state.Outputs() {
		outputs[name] = masked(value)
	}
	return outputs, nil
}

// Pulumi's marks of special values in a state (apitype, serialised property values).
const (
	signature       = "4dabf18193072939515e22adb298388d"
	secretSignature = "1b47061264138c4ac30d75fd1eb44270"
)

func masked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if value[signature] == secretSignature {
			return HiddenSecret
		}
		result := map[string]any{}
		for name, v := range value {
			result[name] = masked(v)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, v := range value {
			result[i] = masked(v)
		}
		return result
	}
	return value
}
