package source

import (
	"context"
	"crypto"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/fluxcd/pkg/tar"
)

const (
	// artifactTimeout bounds the fetch of an archive.
	artifactTimeout = 5 * time.Minute

	// maxRedirects bounds the redirects of an archive's address.
	maxRedirects = 3
)

// algorithms maps names to the checksums that source-controller supports.
var algorithms = map[string]crypto.Hash{"sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512}

// Artifact is an archive (.tar.gz) that a Flux source publishes in status.artifact.
type Artifact struct {
	// URL is the archive's address, with the scheme http or https.
	URL string

	// Digest is the archive's checksum, for example sha256:4f53....
	Digest string

	// Revision identifies the archive's content, for example main@sha1:8c4e....
	Revision string

	// Client fetches the archive. If Client is nil, Fetch uses a new [http.Client]. Fetch
	// refuses redirects to another host in either case.
	Client *http.Client
}

// Fetch unpacks the archive into dst, an empty folder, and returns Revision. Fetch
// refuses an archive that contains symbolic links, or names that lead out of dst. After
// an error, dst may hold a part of the archive.
func (a Artifact) Fetch(ctx context.Context, dst string) (revision string, err error) {
	address, err := url.Parse(a.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return "", invalid("artifact %q: its address must begin with http:// or https://", a.URL)
	}
	algorithm, sum, err := a.checksum()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, artifactTimeout)
	defer cancel()
	archive, err := os.CreateTemp(dst, ".artifact-")
	if err != nil {
		return "", fmt.Errorf("store artifact %s: %w", shown(address), err)
	}
	defer archive.Close()
	// dst must contain the archive's content only.
	if err := os.Remove(archive.Name()); err != nil {
		return "", fmt.Errorf("store artifact %s: %w", shown(address), err)
	}
	hash := algorithm.New()
	if err := a.download(ctx, io.MultiWriter(archive, hash)); err != nil {
		return "", fmt.Errorf("fetch artifact %s: %w", shown(address), err)
	}
	if got := hash.Sum(nil); subtle.ConstantTimeCompare(got, sum) != 1 {
		return "", fmt.Errorf("artifact %s has the digest %x instead of %s: the archive was changed during the transfer, or its source has published a newer one", shown(address), got, a.Digest)
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read artifact %s: %w", shown(address), err)
	}
	if err := unpack(ctx, archive, dst); err != nil {
		return "", fmt.Errorf("unpack artifact %s: %w", shown(address), err)
	}
	return a.Revision, nil
}

// checksum parses Digest.
func (a Artifact) checksum() (crypto.Hash, []byte, error) {
	name, value, _ := strings.Cut(a.Digest, ":")
	algorithm, known := algorithms[name]
	sum, err := hex.DecodeString(value)
	if !known || err != nil || len(sum) != algorithm.Size() {
		return 0, nil, invalid("artifact %q: its digest %q must be one of sha256, sha384 or sha512", a.URL, a.Digest)
	}
	return algorithm, sum, nil
}

// download writes the archive to w.
func (a Artifact) download(ctx context.Context, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return err
	}
	client := http.Client{}
	if a.Client != nil {
		client = *a.Client
	}
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
			return fmt.Errorf("its server redirects to %s, which is not allowed", shown(next.URL))
		}
		return nil
	}
	answer, err := client.Do(req)
	if err != nil {
		// A *url.Error begins with the method and the address, and the caller adds the
		// address itself.
		if cause := (*url.Error)(nil); errors.As(err, &cause) {
			err = cause.Err
		}
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("its server answered %s", answer.Status)
	}
	n, err := io.Copy(w, io.LimitReader(answer.Body, maxBytes+1))
	if err == nil && n > maxBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxBytes)
	}
	return err
}

// unpack unpacks an archive. Untar refuses symbolic links.
func unpack(ctx context.Context, archive io.Reader, dst string) error {
	// A small archive may contain gigabytes of empty entries. The cancelled context stops
	// reading them.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	entries := 0
	err := tar.Untar(contextReader{ctx, archive}, dst, tar.WithMaxUntarSize(maxBytes), tar.WithFilter(func(string, os.FileInfo) bool {
		if entries++; entries > maxFiles {
			stop()
		}
		return entries > maxFiles
	}))
	if entries > maxFiles {
		return fmt.Errorf("it contains more than %d files and folders", maxFiles)
	}
	return err
}

// contextReader reads from r until ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
