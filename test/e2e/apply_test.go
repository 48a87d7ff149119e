package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// apply: apply KUBECONFIG NAMESPACE FILE — applies the objects of a file, by server-side apply, those with a namespace to this one. It prints
// rejections to standard error. With a ! in front, RBAC or admission must reject an object.
func apply(ts *testscript.TestScript, neg bool, args []string) {
	err := tryApply(ts, args)
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	expect(ts, neg, err, refusedByKubernetes)
}

// refusedByKubernetes reports whether an error comes from RBAC, admission or validation.
func refusedByKubernetes(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

func tryApply(ts *testscript.TestScript, args []string) error {
	kubeconfig, namespace, objects := args[0], args[1], ts.ReadFile(args[2])
	config, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(kubeconfig))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(objects), 4096)
	for {
		var object unstructured.Unstructured
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		in := namespace
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			in = ""
		}
		if _, err := client.Resource(mapping.Resource).Namespace(in).Apply(context.Background(), object.GetName(), &object,
			metav1.ApplyOptions{FieldManager: "e2e"}); err != nil {
			return fmt.Errorf("apply %s %s/%s: %w", kind.Kind, in, object.GetName(), err)
		}
	}
}
