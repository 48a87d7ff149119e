package home

import "os"

// Sources that Flux can fetch the platform from.
const (
	// GitSource is the repository of the platform on the home's Git server.
	GitSource = "git"
	// OCISource is the repository of the platform's signed artifacts in the home's registry.
	OCISource = "oci"
)

// KeepSource records where Flux fetches the platform from. An empty name has no effect.
func (h Home) KeepSource(name string) error {
	if name == "" {
		return nil
	}
	return WriteFile(h.path("source"), []byte(name))
}

// Source returns where Flux fetches the platform from. Without a record it is GitSource.
func (h Home) Source() string {
	kept, err := os.ReadFile(h.path("source"))
	if err != nil {
		return GitSource
	}
	return string(kept)
}
