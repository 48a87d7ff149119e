// Package forms spells the types of resources in every form that a Pulumi program can use.
package forms

import (
	"slices"
	"strings"
)

// Of returns every form in which a Program can write the given types: full names, and prefixes of names. Pulumi
// accepts gcp:sql:User for gcp:sql/user:User, and random:Pet for random:index/pet:Pet.
func Of(types []string) (names, prefixes []string) {
	for _, each := range types {
		if head, isPattern := strings.CutSuffix(each, "*"); isPattern {
			prefixes = append(prefixes, head)
			if module := strings.TrimRight(head, ":/"); strings.Contains(module, ":") {
				prefixes = append(prefixes, module+":", module+"/")
			}
			continue
		}
		names = append(names, each)
		parts := strings.Split(each, ":")
		pkg, name := parts[0], parts[len(parts)-1]
		module := "index"
		if len(parts) > 2 {
			module = strings.TrimSuffix(parts[1], "/"+decapitalised(name))
		}
		names = append(names, pkg+":"+module+":"+name, pkg+":"+module+"/"+decapitalised(name)+":"+name)
		if module == "index" {
			names = append(names, pkg+":"+name)
		}
	}
	slices.Sort(names)
	slices.Sort(prefixes)
	return slices.Compact(names), slices.Compact(prefixes)
}

func decapitalised(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}
