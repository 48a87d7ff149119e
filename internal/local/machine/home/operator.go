package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Operators that can run the Stacks of a home.
const (
	// EmbeddedOperator is Strata's own operator, as a process of this machine.
	EmbeddedOperator = "embedded"
	// UpstreamOperator is the Pulumi Kubernetes Operator, in sandboxed pods.
	UpstreamOperator = "upstream"
)

// KeepOperator records the operator of the home. It returns an error if the home has another operator, because the two keep
// the state of the Stacks in different backends. An empty name has no effect. A home without a record whose layers ran has
// the embedded operator.
func (h Home) KeepOperator(name string) error {
	if name == "" {
		return nil
	}
	kept, err := os.ReadFile(h.path("operator"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(h.Layers()); err != nil || name == EmbeddedOperator {
			return WriteFile(h.path("operator"), []byte(name))
		}
		kept = []byte(EmbeddedOperator)
	} else if err != nil {
		return fmt.Errorf("read the home's operator: %w", err)
	}
	if string(kept) != name {
		return fmt.Errorf("home %s has the operator %s, not %s: run `%s` first, or name another home in %s", h.dir, kept, name, h.Call("down --purge"), Variable)
	}
	return nil
}

// Operator returns the operator of the home. Without a record it is the embedded one.
func (h Home) Operator() string {
	kept, err := os.ReadFile(h.path("operator"))
	if err != nil {
		return EmbeddedOperator
	}
	return string(kept)
}
