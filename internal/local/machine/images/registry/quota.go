package registry

import (
	"fmt"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// meter counts the bytes of an upload as they arrive, so that the account's uploads at the same time share its quota.
type meter struct {
	*call
	upload *upload
	// stored is the size of the account's content at the begin of the request. The check at the end of an upload finds what
	// other requests have stored meanwhile.
	stored int64
}

// Write implements io.Writer. It returns an error if the upload would exceed the quota.
func (m meter) Write(p []byte) (int, error) {
	m.mutex.Lock()
	m.upload.received += int64(len(p))
	m.mutex.Unlock()
	if m.grant.Quota == 0 {
		return len(p), nil
	}
	return len(p), m.exceeds(m.stored + m.pending())
}

// checkQuota returns an error if the account's content and need more bytes exceed its quota.
func (c *call) checkQuota(need int64) error {
	if c.grant.Quota == 0 {
		return nil
	}
	// A blob that becomes complete between the two counts twice, and never not at all.
	pending := c.pending()
	stored, err := c.stored()
	if err != nil {
		return err
	}
	return c.exceeds(stored + pending + need)
}

// exceeds returns an error if a size in bytes exceeds the quota, which is not zero.
func (c *call) exceeds(size int64) error {
	if size <= c.grant.Quota {
		return nil
	}
	return refusal{http.StatusForbidden, "DENIED", fmt.Sprintf("the images of this account would take more than its quota of %d bytes: "+
		"remove images that nothing uses, as with `strata image remove`", c.grant.Quota)}
}

// pending returns the size in bytes of the unfinished uploads to the account's repositories.
func (c *call) pending() (size int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, u := range c.uploads {
		if c.grant.Push(u.repository) {
			size += u.received
		}
	}
	return size
}

// stored returns the size in bytes of the content of the repositories to which the account may push, with blobs that no
// manifest names yet. Content that several images share counts once. The layers of unpacked images count although garbage
// collection may have removed them: their unpacked form takes more.
func (c *call) stored() (int64, error) {
	references, err := c.store.References()
	if err != nil {
		return 0, err
	}
	sizes := map[v1.Hash]int64{}
	for _, reference := range references {
		if repository, _, ok := c.own(reference.Name); !ok || !c.grant.Push(repository) {
			continue
		}
		if err := c.store.Reachable(reference.Target, func(d v1.Descriptor) { sizes[d.Digest] = d.Size }); err != nil {
			return 0, err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for key := range c.uploaded {
		repository, text, _ := strings.Cut(key, "@")
		digest, err := v1.NewHash(text)
		if err != nil || !c.grant.Push(repository) {
			continue
		}
		size, found := c.store.Has(digest)
		if !found { // garbage collection has removed it
			delete(c.uploaded, key)
			continue
		}
		sizes[digest] = size
	}
	var sum int64
	for _, size := range sizes {
		sum += size
	}
	return sum, nil
}
