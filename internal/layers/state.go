package layers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// Deployment returns the state of a layer's stack; empty if the layer has not run. It decrypts and changes nothing.
func (r Runner) Deployment(ctx context.Context, l Layer) (apitype.DeploymentV3, error) {
	var deployment apitype.DeploymentV3
	raw, err := r.deployment(ctx, l, func() (auto.Stack, error) { return r.open(ctx, l) })
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &deployment)
	}
	if err != nil {
		return deployment, r.unread(ctx, "state", l, err)
	}
	return deployment, nil
}

// Has reports whether a layer's stack contains a resource, by its URN. It changes nothing.
func (r Runner) Has(ctx context.Context, l Layer, urn string) (bool, error) {
	state, err := r.look(ctx, l)
	return err == nil && state.Has(urn), err
}

// Prepared reports whether an Up of a layer begins with Pulumi's engine: the stack exists in a backend of files and has the
// layer's configuration, and no killed run has left operations to settle.
func (r Runner) Prepared(l Layer) bool {
	raw, ok, err := r.stored(l)
	if err != nil || !ok || len(raw) == 0 {
		return false
	}
	state, err := settle.ParseDeployment(raw)
	if err != nil || state.Unsettled() {
		return false
	}
	sum, err := r.configSum(l)
	return err == nil && r.isConfigured(l, sum)
}

// look returns the state of a layer's stack; empty if the layer has not run.
func (r Runner) look(ctx context.Context, l Layer) (*settle.State, error) {
	raw, err := r.deployment(ctx, l, func() (auto.Stack, error) { return r.open(ctx, l) })
	var state *settle.State
	if err == nil {
		state, err = settle.ParseDeployment(raw)
	}
	if err != nil {
		return nil, r.unread(ctx, "state", l, err)
	}
	return state, nil
}

// unread wraps the error of a failed read. It returns ctx's error if ctx has ended.
func (r Runner) unread(ctx context.Context, what string, l Layer, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("read the %s of layer %s, stack %s: %w", what, l.Name, r.Stack, brief(err))
}

// state returns the state of a layer whose stack is open.
func (r Runner) state(ctx context.Context, l Layer, stack auto.Stack) (*settle.State, error) {
	raw, err := r.deployment(ctx, l, func() (auto.Stack, error) { return stack, nil })
	if err != nil {
		return nil, err
	}
	return settle.ParseDeployment(raw)
}

// deployment returns the state of a layer as Pulumi stores it; nil if the layer has not run. It reads a backend of files
// directly, which takes almost no time, and otherwise exports the state of the stack that open returns.
func (r Runner) deployment(ctx context.Context, l Layer, open func() (auto.Stack, error)) (json.RawMessage, error) {
	if raw, ok, err := r.stored(l); ok || err != nil {
		return raw, err
	}
	stack, err := open()
	var raw []byte
	if err == nil {
		raw, err = r.export(ctx, stack)
	}
	if NoStack(err) {
		return nil, nil
	}
	var exported apitype.UntypedDeployment
	if err == nil {
		err = json.Unmarshal(raw, &exported)
	}
	return exported.Deployment, err
}

// export returns the output of `pulumi stack export`, with encrypted secrets. The Automation API's export decrypts them,
// and its import writes what it gets to a file for a moment.
func (r Runner) export(ctx context.Context, stack auto.Stack) ([]byte, error) {
	text, err := r.pulumi(ctx, stack, nil, "stack", "export")
	return []byte(text), err
}

// stored reads the state of a layer from a backend of files. For any other backend ok is false.
func (r Runner) stored(l Layer) (deployment json.RawMessage, ok bool, err error) {
	address, err := url.Parse(r.Env["PULUMI_BACKEND_URL"])
	// Pulumi resolves a path that is not absolute, such as file://~/state, against a folder of its own choice.
	if err != nil || address.Scheme != "file" || address.Host != "" || !filepath.IsAbs(address.Path) {
		return nil, false, nil //nolint:nilerr // Pulumi reports the error in the address.
	}
	state := backend.State{Backend: backend.Backend{Folder: "."}, Parent: address.Path, Project: l.Project, Stack: r.Stack}
	raw, err := state.Read()
	if err == nil && raw == nil {
		return nil, true, nil
	}
	var file struct {
		Checkpoint struct {
			Latest json.RawMessage `json:"latest"`
		} `json:"checkpoint"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return nil, true, fmt.Errorf("read the stack's state: %w", err)
	}
	return file.Checkpoint.Latest, true, nil
}

// noStack is Pulumi's message for a stack that does not exist.
const noStack = "no stack named"

// NoStack reports whether a call of Pulumi failed because the stack does not exist.
func NoStack(err error) bool { return err != nil && strings.Contains(err.Error(), noStack) }
