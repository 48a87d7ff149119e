package gcp

import (
	"fmt"
	"regexp"
)

// parseID returns the named groups of the first pattern that matches an ID.
func parseID(id string, patterns []*regexp.Regexp) (map[string]string, error) {
	for _, p := range patterns {
		m := p.FindStringSubmatch(id)
		if m == nil {
			continue
		}
		parts := map[string]string{}
		for i, name := range p.SubexpNames() {
			if name != "" {
				parts[name] = m[i]
			}
		}
		return parts, nil
	}
	return nil, fmt.Errorf("ID %q has none of the known forms, the longest of which is %s", id, patterns[0])
}
