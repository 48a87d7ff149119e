// Package commit reads the objects of a commit from the manifests of a Plan.
package commit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/plans/ordered"
	"github.com/strata-platform/strata/operator/engine/project"
)

const (
	// MostStacks bounds the Stacks of a commit.
	MostStacks = 50

	// mostObjects bounds all objects of a commit, and mostBytes their text.
	mostObjects, mostBytes = 200, 900_000
)

// Kinds of the objects of a commit.
const (
	StackKind     = v1.StackKind
	ProgramKind   = "Program"
	ConfigMapKind = "ConfigMap"
)

// Commit holds the objects of a commit.
type Commit struct {
	// Objects are the objects by kind and name.
	Objects map[string]map[string]*unstructured.Unstructured

	// Order lists the objects in the order of the commit.
	Order []*unstructured.Unstructured
}

// Parse reads the manifests of a Plan in a namespace. The error says what the author of the Plan has to change.
func Parse(manifests, namespace string) (*Commit, error) {
	if len(manifests) > mostBytes {
		return nil, fmt.Errorf("spec.manifests has %d bytes, at most %d are possible", len(manifests), mostBytes)
	}
	c := &Commit{Objects: map[string]map[string]*unstructured.Unstructured{StackKind: {}, ProgramKind: {}, ConfigMapKind: {}}}
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
func (c *Commit) add(document []byte, namespace string) error {
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
	known := version == v1.GroupVersion.String() && (kind == StackKind || kind == ProgramKind) || version == "v1" && kind == ConfigMapKind
	if !known && !ordered.Is(object.GroupVersionKind()) {
		return fmt.Errorf("kind %s of %s: a Plan takes the Stacks, Programs and orders of a commit, and ConfigMaps", kind, version)
	}
	if in := object.GetNamespace(); in != "" && in != namespace {
		return fmt.Errorf("%s %s is in namespace %s: a Plan takes objects of its own namespace, %s", kind, name, in, namespace)
	}
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", kind)
	case c.Objects[kind][name] != nil:
		return fmt.Errorf("there are two %ss named %s", kind, name)
	case kind == StackKind && len(c.Objects[kind]) == MostStacks:
		return fmt.Errorf("a Plan takes at most %d Stacks", MostStacks)
	case len(c.Order) == mostObjects:
		return fmt.Errorf("a Plan takes at most %d objects", mostObjects)
	}
	object.SetNamespace(namespace)
	if c.Objects[kind] == nil {
		c.Objects[kind] = map[string]*unstructured.Unstructured{}
	}
	c.Objects[kind][name] = object
	c.Order = append(c.Order, object)
	return nil
}
