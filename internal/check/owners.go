package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/owners"
	"github.com/strata-platform/strata/operator/engine/project"
)

// owned reports the databases and users that two Stacks of the repository would create, as the engine does when both run.
// Places that another Stack in the cluster owns are unknown here.
func (r *run) owned(registry *owners.Registry, object found, stack *v1.Stack, made *v1.Program) error {
	declared, defaults, err := r.databases(made)
	if err != nil || len(declared) == 0 {
		return err
	}
	config := map[string]json.RawMessage{}
	for key, value := range stack.Spec.Config {
		config[key] = value.Raw
	}
	err = registry.Declare(&owners.Run{
		Declared: declared, Defaults: defaults, Config: config,
		State: backend.State{Project: made.Name, Stack: stack.Spec.Stack},
		Named: func(_, name string) string { return r.stackNames[name] },
	})
	if taken := (*owners.TakenError)(nil); errors.As(err, &taken) {
		r.add(object.at("program.resources"), RuleOwner, object.String(), fmt.Sprintf("Stack %s: %v", stack.Name, taken), "correct it and push")
		return nil
	}
	return err
}

// databases returns the databases and users that a Program declares, and its default values.
func (r *run) databases(made *v1.Program) ([]project.Database, map[string]string, error) {
	content, _, err := program.ProjectFile(made)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp(r.temporary, "project-")
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "Pulumi.yaml"), content, 0o600); err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	read, err := project.Read(root, "")
	if err != nil {
		return nil, nil, err
	}
	return read.Databases(root)
}
