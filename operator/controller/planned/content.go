package planned

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/controller/google"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/runrecord"
)

// Visible returns the variables of a run that anybody may see and that are the same for each run: none of Pulumi's own, none with a
// secret value, none with an identity, and not the reason that the operator gives each run.
func Visible(env map[string]string, secrets []string) map[string]string {
	seen := maps.Clone(env)
	maps.DeleteFunc(seen, func(name, value string) bool {
		return strings.HasPrefix(name, "PULUMI_") || slices.Contains(secrets, value) || google.ChoosesIdentity(name) || name == runrecord.ReasonVariable
	})
	return seen
}

// Content returns the digest of what a run runs, sha256:HEX: its program, the config and variables that are not secret, the names of the
// secret config, and the options that change what happens. It is the same for an update, or a destroy, and for the [engine.Plan] of it.
// version identifies a program that comes from a source.
func Content(req engine.Request, version string) string {
	content := struct {
		Operation      engine.Operation
		Project, Stack string
		Program, Path  string
		Version        string
		Config         map[string]any    `json:",omitempty"`
		SecretConfig   []string          `json:",omitempty"`
		Env            map[string]string `json:",omitempty"`
		Targets        []string          `json:",omitempty"`
		Dependents     bool
		Replace        []string `json:",omitempty"`
	}{Operation: engine.Up, Project: req.Project, Stack: req.Stack, Targets: req.Targets, Dependents: req.TargetDependents, Replace: req.Options.Replace}
	if req.Operation == engine.Destroy || req.Operation == engine.Plan && req.Program == nil {
		content.Operation = engine.Destroy
	}
	// A destroy takes everything from the state unless it runs the program.
	if content.Operation == engine.Up || req.RunProgram {
		content.Program, content.Path = string(req.Program), req.Path
		if req.Source != nil {
			content.Version = version
		}
		content.Config, content.SecretConfig = map[string]any{}, slices.Sorted(maps.Keys(req.SecretConfig))
		for key, value := range req.Config {
			content.Config[key] = canonical(value)
		}
		content.Env = Visible(req.Env, req.Secrets)
	}
	encoded, _ := json.Marshal(content) // It has texts, numbers and decoded JSON only.
	return fmt.Sprintf("sha256:%x", sha256.Sum256(encoded))
}

// canonical returns the decoded JSON, so that white space does not count.
func canonical(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(raw)
	}
	return value
}
