package plans

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine/project"
)

const (
	// mostStacks bounds the Stacks of a commit, and those that it deletes; mostObjects bounds all its objects; mostBytes their text.
	mostStacks, mostObjects, mostBytes = 50, 200, 900_000
)

// Kinds of the objects of a commit.
const (
	stackKind, programKind, configMapKind = v1.StackKind, "Program", "ConfigMap"
)

// commit holds the objects of a commit by kind and name.
type commit struct {
	objects map[string]map[string]*unstructured.Unstructured

	// order lists the objects in the order of the commit.
	order []*unstructured.Unstructured
}

// parse reads the manifests of a Plan in a namespace. The error says what the author of the Plan has to change.
func parse(manifests, namespace string) (*commit, error) {
	if len(manifests) > mostBytes {
		return nil, fmt.Errorf("spec.manifests has %d bytes, at most %d are possible", len(manifests), mostBytes)
	}
	c := &commit{objects: map[string]map[string]*unstructured.Unstructured{stackKind: {}, programKind: {}, configMapKind: {}}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err == nil {
			err = c.add(document, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d of spec.manifests: %w", number, err)
		}
	}
}

// add adds a document to the commit.
func (c *commit) add(document []byte, namespace string) error {
	content, err := project.StrictJSON(document)
	if err != nil {
		return err
	}
	if string(content) == "null" {
		return nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(content); err != nil {
		return errors.New("it is not a Kubernetes object: it needs apiVersion and kind")
	}
	kind, name := object.GetKind(), object.GetName()
	version := object.GetAPIVersion()
	if known := version == v1.GroupVersion.String() && (kind == stackKind || kind == programKind) || version == "v1" && kind == configMapKind; !known {
		return fmt.Errorf("kind %s of %s: a Plan takes the Stacks and Programs of a commit, and ConfigMaps", kind, version)
	}
	if in := object.GetNamespace(); in != "" && in != namespace {
		return fmt.Errorf("%s %s is in namespace %s: a Plan takes objects of its own namespace, %s", kind, name, in, namespace)
	}
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", kind)
	case c.objects[kind][name] != nil:
		return fmt.Errorf("there are two %ss named %s", kind, name)
	case kind == stackKind && len(c.objects[kind]) == mostStacks:
		return fmt.Errorf("a Plan takes at most %d Stacks", mostStacks)
	case len(c.order) == mostObjects:
		return fmt.Errorf("a Plan takes at most %d objects", mostObjects)
	}
	object.SetNamespace(namespace)
	c.objects[kind][name] = object
	c.order = append(c.order, object)
	return nil
}
