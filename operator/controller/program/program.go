// Package program checks Programs, and writes them as Pulumi projects.
package program

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine/project"
)

// Reconciler reports in the status of every Program whether it is well formed.
type Reconciler struct {
	// Client writes the status.
	Client client.Client

	// Reader reads from the API server, not from the cache, which holds only the metadata of Programs.
	Reader client.Reader
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	program := &v1.Program{}
	if err := r.Reader.Get(ctx, req.NamespacedName, program); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	base := program.DeepCopy()
	status := &program.Status
	status.ObservedGeneration = program.Generation
	ready := metav1.Condition{
		Type: v1.ReadyCondition, Status: metav1.ConditionTrue, Reason: v1.ReadyCompletedReason,
		Message: "the program is well formed", ObservedGeneration: program.Generation,
	}
	_, _, err := ProjectFile(program)
	if err == nil {
		err = Check(program, nil)
	}
	if err != nil {
		// A Stack may set config keys that the program does not declare.
		config, listErr := r.stacksConfig(ctx, program)
		if listErr != nil {
			return reconcile.Result{}, listErr
		}
		err = Check(program, config)
	}
	if err != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1.NotReadyStalledReason, err.Error()
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: v1.StalledCondition, Status: metav1.ConditionTrue, Reason: v1.StalledSpecInvalidReason,
			Message: err.Error(), ObservedGeneration: program.Generation,
		})
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1.StalledCondition)
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(base.Status, *status) {
		return reconcile.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, program, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("write status of Program %s: %w", req, err)
	}
	return reconcile.Result{}, nil
}

// stacksConfig returns the config keys that the Stacks of a Program set.
func (r *Reconciler) stacksConfig(ctx context.Context, program *v1.Program) ([]string, error) {
	var stacks v1.StackList
	if err := r.Reader.List(ctx, &stacks, client.InNamespace(program.Namespace)); err != nil {
		return nil, fmt.Errorf("list the Stacks of Program %s: %w", client.ObjectKeyFromObject(program), err)
	}
	var keys []string
	for _, stack := range stacks.Items {
		if ref := stack.Spec.ProgramRef; ref != nil && ref.Name == program.Name {
			keys = append(keys, ConfigKeys(&stack.Spec)...)
		}
	}
	return keys, nil
}

// ConfigKeys returns the config keys that a Stack sets.
func ConfigKeys(spec *v1.StackSpec) []string {
	return slices.Concat(
		slices.Collect(maps.Keys(spec.Config)), slices.Collect(maps.Keys(spec.ConfigRef)),
		slices.Collect(maps.Keys(spec.Secrets)), slices.Collect(maps.Keys(spec.SecretRefs)),
	)
}

// Check returns the first fault that the CRD's schema cannot detect. The error
// has the fault's path. The program may refer to the keys in config in addition to those
// that it declares.
func Check(program *v1.Program, config []string) error {
	spec := program.Program
	for _, name := range slices.Sorted(maps.Keys(spec.Configuration)) {
		if c := spec.Configuration[name]; c.Type == "" && c.Default == nil {
			return (&fault{path: []string{"configuration", name}, message: "set type, default or both"}).err()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Resources)) {
		// Pulumi silently ignores such a resource.
		if kind := spec.Resources[name].Type; !strings.Contains(kind, ":") {
			message := fmt.Sprintf("%q names no package: write the package first, as in kubernetes:apps/v1:Deployment", kind)
			return (&fault{path: []string{"resources", name, "type"}, message: message}).err()
		}
		if r := spec.Resources[name]; r.Get != nil && len(r.Properties) > 0 {
			return (&fault{path: []string{"resources", name}, message: "get reads an existing resource and excludes properties: remove one of them"}).err()
		}
	}
	return checkReferences(spec, config)
}

// ProjectFile returns a Program as the Pulumi.yaml of a project, and its revision. The
// revision consists of the generation and a digest of the content. The generation alone
// is not enough, because it restarts when a Program is deleted and recreated.
func ProjectFile(program *v1.Program) (content []byte, revision string, err error) {
	spec, err := json.Marshal(struct {
		Name           string `json:"name"`
		Runtime        string `json:"runtime"`
		v1.ProgramSpec `json:",inline"`
	}{program.Name, project.YAML, program.Program})
	if err == nil {
		content, err = yaml.JSONToYAML(spec)
	}
	if err != nil {
		return nil, "", fmt.Errorf("write Program %s as a project: %w", client.ObjectKeyFromObject(program), err)
	}
	return content, fmt.Sprintf("%d@sha256:%x", program.Generation, sha256.Sum256(content)), nil
}
