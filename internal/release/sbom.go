package release

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// bom returns the software bill of materials of programs, as CycloneDX JSON: the modules that the Go linker has recorded in
// them. name and version describe the archive that contains the programs. It has no serial number, and the time is that of the
// commit, so that the same programs always give the same document.
func bom(name, version string, made time.Time, programs []string) ([]byte, error) {
	components := map[string]cyclonedx.Component{}
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s: %w", path, err)
		}
		for _, c := range linked(info) {
			components[c.BOMRef] = c
		}
	}
	list := slices.SortedFunc(maps.Values(components), func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	document := cyclonedx.NewBOM()
	document.Metadata = &cyclonedx.Metadata{
		Timestamp: made.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{BOMRef: name + "@" + version, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version},
	}
	document.Components = &list
	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	// Scanners read version 1.6; it has all fields that are used here.
	if err := encoder.EncodeVersion(document, cyclonedx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// linked returns the modules of a program, with the standard library. Modules of Strata's own repository have no version.
func linked(info *debug.BuildInfo) []cyclonedx.Component {
	list := []cyclonedx.Component{component(&debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Path != "" && m.Version != "" && m.Version != "(devel)" {
			list = append(list, component(m))
		}
	}
	return list
}

func component(m *debug.Module) cyclonedx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		// A hash of go.sum is a hash of the files' hashes. CycloneDX has fields only for hashes of an archive.
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}
