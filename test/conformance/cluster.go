package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/strata-platform/strata/components/hop"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Label is the label of every object of the suite, and of every resource of its Programs. Its value identifies the run.
const Label = "strata.dev/conformance"

// manager is the field manager of the suite.
const manager = "strata-conformance"

// kind is a kind of objects that the suite uses.
type kind struct {
	schema.GroupVersionResource
	kind string
}

var (
	stacks     = kind{v1.GroupVersion.WithResource("stacks"), v1.StackKind}
	programs   = kind{v1.GroupVersion.WithResource("programs"), v1.ProgramKind}
	configMaps = kind{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap"}
	secrets    = kind{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret"}
	events     = kind{schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event"}
	// policies exist in the namespaces of teams only.
	policies = kind{schema.GroupVersionResource{Group: hop.PolicyGroup, Version: hop.PolicyVersion, Resource: hop.PolicyPlural}, hop.PolicyKind}
)

// of returns the client for a kind in the namespace.
func (s *suite) of(of kind) dynamic.ResourceInterface {
	return s.objects.Resource(of.GroupVersionResource).Namespace(s.Namespace)
}

func (s *suite) patch(ctx context.Context, of kind, name, merge string) error {
	if _, err := s.of(of).Patch(ctx, name, types.MergePatchType, []byte(merge), metav1.PatchOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("change %s %s: %w", of.kind, name, err)
	}
	return nil
}

// prepare checks what the suite needs, and changes nothing.
func (s *suite) prepare(ctx context.Context) error {
	if s.Namespace == "" {
		return errors.New("no namespace to create the objects in")
	}
	for _, each := range []kind{programs, stacks} {
		if _, err := s.of(each).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster has no kind %s (%s): install an operator first", each.kind, each.GroupVersion())
		} else if err != nil {
			return fmt.Errorf("list the kind %s of namespace %s: %w", each.kind, s.Namespace, err)
		}
	}
	secret, err := s.of(secrets).Get(ctx, s.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s has no Secret %s: create it with the environment of the runs, such as PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE",
			s.Namespace, s.Secret)
	} else if err != nil {
		return fmt.Errorf("read Secret %s of namespace %s: %w", s.Secret, s.Namespace, err)
	}
	data, _ := secret.Object["data"].(map[string]any)
	if len(data) == 0 {
		return fmt.Errorf("secret %s of namespace %s is empty: its keys must be the environment of the runs, such as PULUMI_BACKEND_URL", s.Secret, s.Namespace)
	}
	s.variables = slices.Sorted(maps.Keys(data))
	_, err = s.of(policies).Get(ctx, hop.PolicyName, metav1.GetOptions{})
	s.team = err == nil
	return nil
}
