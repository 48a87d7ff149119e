package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// scene is one sequence of changes and checks, with objects of its own. Its first error ends it: later changes do nothing, and
// later checks are skipped.
type scene struct {
	*suite

	ctx context.Context

	// name is the name of the scene's Program and Stack, and begins the names of its other objects.
	name string

	// first is called after the scene's first check.
	first func()
	once  sync.Once

	// err is the error of a change. failed is the name of the check that failed.
	err    error
	failed string

	// stacks are the names of all Stacks that the scene has applied. repairs make a Stack fit to be destroyed.
	stacks  []string
	repairs []func() error
}

func (s *scene) started() { s.once.Do(s.first) }

// hold checks a statement. look returns what it has seen, as an error if the statement does not hold.
func (s *scene) hold(name string, look func() (string, error)) {
	statement := named(name)
	defer s.started()
	if s.ctx.Err() != nil || statement.Contract == Own && s.SharedOnly {
		return
	}
	result, began := Result{Statement: statement, Outcome: Skipped, Seen: s.failed + " failed"}, time.Now()
	if s.failed == "" {
		s.beginning(statement)
		seen, err := "", s.err
		if err == nil {
			seen, err = look()
		}
		if s.ctx.Err() != nil {
			return
		}
		result.Seen, result.Outcome = seen, Passed
		if skip := (*skipped)(nil); errors.As(err, &skip) {
			result.Seen, result.Outcome = skip.why, Skipped
		} else if err != nil {
			result.Seen, result.Outcome = observe.Line(err.Error()), Failed
			s.failed = name
		}
		result.Seconds = time.Since(began).Round(10 * time.Millisecond).Seconds()
	}
	s.record(result)
}

// skipped is the error of a check that does not apply.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

// broken reports whether the scene has to end.
func (s *scene) broken() bool { return s.err != nil || s.failed != "" || s.ctx.Err() != nil }

// change makes a change, unless the scene has to end.
func (s *scene) change(apply func() error) {
	if !s.broken() {
		s.err = apply()
	}
}

// fill replaces the placeholders of a manifest: NAME, and OWN for the remaining metadata of a resource. The deletion of a resource
// does not wait for the cluster's garbage collector.
func (s *scene) fill(manifest string) string {
	own := fmt.Sprintf("namespace: %q, labels: {%s: %q}, annotations: {pulumi.com/deletionPropagationPolicy: background}", s.Namespace, Label, s.id)
	return strings.NewReplacer("NAME", s.name, "OWN", own).Replace(manifest)
}

// program applies the Program of the scene.
func (s *scene) program(body string) {
	s.change(func() error {
		return s.apply(s.ctx, programs, s.name, map[string]any{"program": decode(s.fill(body))})
	})
}

// stack applies a Stack. spec adds fields to those that every Stack has, or replaces them.
func (s *scene) stack(name, spec string) {
	s.change(func() error { return s.putStack(s.ctx, name, spec) })
}

func (s *scene) putStack(ctx context.Context, name, spec string) error {
	s.stacks = append(s.stacks, name)
	all := map[string]any{
		"stack": name, "programRef": map[string]any{"name": s.name}, "destroyOnFinalize": true, "envRefs": s.environment(),
		// A destroy also removes the empty stack from its backend.
		"updateTemplate": map[string]any{"spec": map[string]any{"remove": true}},
	}
	if s.ServiceAccount != "" {
		all["serviceAccountName"] = s.ServiceAccount
	}
	for field, value := range decode(s.fill(spec)) {
		if added, ok := value.(map[string]any); ok && field == "envRefs" {
			maps.Copy(all[field].(map[string]any), added)
			continue
		}
		all[field] = value
	}
	return s.apply(ctx, stacks, name, map[string]any{"spec": all})
}

// environment returns envRefs with all variables of the Secret.
func (s *suite) environment() map[string]any {
	refs := map[string]any{}
	for _, variable := range s.variables {
		refs[variable] = map[string]any{"type": "Secret", "secret": map[string]any{"name": s.Secret, "key": variable}}
	}
	return refs
}

// decode decodes YAML of the suite itself.
func decode(text string) map[string]any {
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		panic(fmt.Sprintf("%v:\n%s", err, text))
	}
	return content
}

// apply creates or changes an object by server-side apply.
func (s *suite) apply(ctx context.Context, of kind, name string, content map[string]any) error {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(of.GroupVersion().WithKind(of.kind))
	object.SetName(name)
	object.SetLabels(map[string]string{Label: s.id})
	if _, err := s.of(of).Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
		return fmt.Errorf("apply %s %s: %w", of.kind, name, err)
	}
	return nil
}

// values applies a ConfigMap or a Secret.
func (s *scene) values(of kind, name string, values map[string]any) {
	s.change(func() error {
		field := "data"
		if of == secrets {
			field = "stringData"
		}
		return s.apply(s.ctx, of, name, map[string]any{field: values})
	})
}

// annotate sets an annotation of a Stack.
func (s *scene) annotate(name, key, value string) {
	s.change(func() error {
		return s.patch(s.ctx, stacks, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
	})
}

// drop deletes an object.
func (s *scene) drop(of kind, name string) {
	s.change(func() error {
		if err := s.of(of).Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", of.kind, name, err)
		}
		return nil
	})
}

// gone waits until a Stack no longer exists.
func (s *scene) gone(name string) error {
	_, err := s.await(name, "gone", func(stack *v1.Stack) bool { return stack == nil })
	return err
}
