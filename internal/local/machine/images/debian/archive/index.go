package archive

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Package is a version of a package in an archive.
type Package struct {
	Name, Version string
	// File is the path below the mirror.
	File string
	// Size is in bytes, and SHA256 is the sum of the file in hexadecimal.
	Size   int64
	SHA256 string

	// depends lists the dependencies, each with its alternatives. provides lists virtual packages.
	depends  [][]string
	provides []string
}

// readIndex reads a Packages file. Its stanzas have fields at the starts of lines (deb-control(5)).
func readIndex(r io.Reader) (map[string]*Package, error) {
	packages := map[string]*Package{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20) // The longest line lists what a package provides.
	current := &Package{}
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if current.Name != "" {
				packages[current.Name] = current
			}
			current = &Package{}
			continue
		}
		name, value, found := strings.Cut(line, ": ")
		if !found || line[0] == ' ' {
			continue
		}
		switch name {
		case "Package":
			current.Name = value
		case "Version":
			current.Version = value
		case "Filename":
			current.File = value
		case "SHA256":
			current.SHA256 = value
		case "Size":
			current.Size, _ = strconv.ParseInt(value, 10, 64) // A wrong size fails the download.
		case "Depends", "Pre-Depends":
			current.depends = append(current.depends, relations(value)...)
		case "Provides":
			for _, each := range relations(value) {
				current.provides = append(current.provides, each...)
			}
		}
	}
	if current.Name != "" {
		packages[current.Name] = current
	}
	return packages, lines.Err()
}

// relations returns the names in a list of dependencies, with their alternatives. It drops versions: the packages of a stable
// suite fit together.
func relations(list string) [][]string {
	var found [][]string
	for each := range strings.SplitSeq(list, ",") {
		var alternatives []string
		for alternative := range strings.SplitSeq(each, "|") {
			name := strings.TrimSpace(alternative)
			if end := strings.IndexAny(name, " (:["); end > 0 {
				name = name[:end]
			}
			if name != "" {
				alternatives = append(alternatives, name)
			}
		}
		if len(alternatives) > 0 {
			found = append(found, alternatives)
		}
	}
	return found
}
