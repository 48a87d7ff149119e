package source

import (
	"context"
	"errors"
	"net/http"
)

// Artifact is an archive (.tar.gz) that a Flux source offers in
// status.artifact.
type Artifact struct {
	// URL is the archive's address: http or https.
	URL string

	// Digest is the archive's checksum, for example sha256:4f53....
	Digest string

	// Revision says what the archive holds, for example main@sha1:8c4e....
	Revision string

	// Client fetches; a client with a timeout per connection when nil.
	Client *http.Client
}

// Fetch unpacks the archive into dst, an empty folder, and returns Revision. It
// leaves dst as far as it came when it fails.
func (a Artifact) Fetch(ctx context.Context, dst string) (revision string, err error) {
	return "", errors.New("not written yet")
}
