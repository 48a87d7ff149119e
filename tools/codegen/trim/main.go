// Command trim removes the descriptions of embedded Kubernetes types from CRDs. Kubernetes itself documents these types, and
// their descriptions make up most of a CRD, which every client that lists CRDs loads.
package main

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// embedded lists the fields whose types are Kubernetes' own.
var embedded = []string{"podTemplate", "env", "envFrom", "resources"}

func main() {
	for _, path := range os.Args[1:] {
		if err := trim(path); err != nil {
			fmt.Fprintf(os.Stderr, "trim %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func trim(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return err
	}
	walk(crd, false, false)
	if data, err = yaml.Marshal(crd); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// walk visits a schema. It removes the descriptions of the embedded fields below workspaceTemplate, and all descriptions
// below those.
func walk(node any, template, drop bool) {
	switch node := node.(type) {
	case map[string]any:
		if _, ok := node["description"].(string); ok && drop {
			delete(node, "description")
		}
		for key, member := range node {
			walk(member, template || key == "workspaceTemplate", drop || template && slices.Contains(embedded, key))
		}
	case []any:
		for _, member := range node {
			walk(member, template, drop)
		}
	}
}
