package archive

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Resolve returns the named packages and all packages that they depend on, sorted by name. Recommended packages are not included.
// A dependency on a package in without counts as met. Of alternatives, Resolve takes one that is already included, and otherwise
// the first that exists. It does not choose the provider of a virtual package: the error lists the providers.
func (i *Index) Resolve(names, without []string) ([]Package, error) {
	chosen := map[string]*Package{}
	provided := map[string]bool{}
	var queue []*Package
	add := func(p *Package) {
		chosen[p.Name] = p
		for _, name := range p.provides {
			provided[name] = true
		}
		queue = append(queue, p)
	}
	for _, name := range names {
		p := i.packages[name]
		if p == nil {
			return nil, fmt.Errorf("suite %s has no package %q: correct the name in the recipe", i.Suite, name)
		}
		if chosen[name] == nil {
			add(p)
		}
	}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		for _, alternatives := range p.depends {
			if slices.ContainsFunc(alternatives, func(name string) bool {
				return chosen[name] != nil || provided[name] || slices.Contains(without, name)
			}) {
				continue
			}
			at := slices.IndexFunc(alternatives, func(name string) bool { return i.packages[name] != nil })
			if at < 0 {
				return nil, fmt.Errorf("package %s needs %s: add one of its providers to the recipe: %s",
					p.Name, strings.Join(alternatives, " or "), strings.Join(i.providers(alternatives), ", "))
			}
			add(i.packages[alternatives[at]])
		}
	}
	var packages []Package
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		packages = append(packages, *chosen[name])
	}
	return packages, nil
}

// providers returns the names of the packages that provide one of the virtual packages.
func (i *Index) providers(virtual []string) []string {
	var found []string
	for _, p := range i.packages {
		if slices.ContainsFunc(p.provides, func(name string) bool { return slices.Contains(virtual, name) }) {
			found = append(found, p.Name)
		}
	}
	slices.Sort(found)
	return found
}
