package core

import (
	"fmt"
	"regexp"
)

// ParseID matches an ID with patterns and returns the named groups of the first match. It returns an error if no
// pattern matches. The first pattern must be the longest, for the error.
func ParseID(id string, patterns []*regexp.Regexp) (map[string]string, error) {
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
	return nil, fmt.Errorf("ID %q does not match any known form; the longest form is %s", id, patterns[0])
}
