package registry

import (
	"fmt"
	"net/http"
	"slices"
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
	stored, pending, err := c.usage()
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
func (c *call) pending() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.pendingLocked()
}

func (c *call) pendingLocked() (size int64) {
	for _, u := range c.uploads {
		if c.grant.Push(u.repository) {
			size += u.received
		}
	}
	return size
}

// usage returns the sizes in bytes of the content of the repositories to which the account may push, with blobs that no
// manifest names yet, and of the unfinished uploads. Content that several images share counts once. The layers of unpacked
// images count although garbage collection may have removed them: their unpacked form takes more.
func (c *call) usage() (stored, pending int64, err error) {
	sizes := map[v1.Hash]int64{}
	// The end of an upload moves its blob under this lock. A manifest moves blobs from uploaded to the references, which
	// are therefore read afterwards: a blob that both contain counts once.
	c.mutex.Lock()
	pending = c.pendingLocked()
	for key := range c.uploaded {
		repository, text, _ := strings.Cut(key, "@")
		digest, err := v1.NewHash(text)
		if err != nil || !c.grant.Push(repository) {
			continue
		}
		size, found := c.store.Has(digest)
		if !found { // Garbage collection has removed it.
			delete(c.uploaded, key)
			continue
		}
		sizes[digest] = size
	}
	c.mutex.Unlock()
	references, err := c.store.References()
	if err != nil {
		return 0, 0, err
	}
	for _, reference := range references {
		if repository, _, ok := c.own(reference.Name); !ok || !c.grant.Push(repository) {
			continue
		}
		if err := c.store.Reachable(reference.Target, func(d v1.Descriptor) { sizes[d.Digest] = d.Size }); err != nil {
			return 0, 0, err
		}
	}
	for _, size := range sizes {
		stored += size
	}
	return stored, pending, nil
}

// checkBlobs returns an error if the account has uploaded too many blobs that no manifest names yet.
func (c *call) checkBlobs() error {
	if c.grant.Names == 0 {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	count := 0
	for key := range c.uploaded {
		if repository, _, _ := strings.Cut(key, "@"); c.grant.Push(repository) {
			count++
		}
	}
	if count < c.grant.Names {
		return nil
	}
	return refusal{http.StatusTooManyRequests, "TOOMANYREQUESTS", fmt.Sprintf("this account has uploaded %d blobs that no manifest names: "+
		"push their manifests, or wait an hour for the garbage collection", count)}
}

// checkNames returns an error if the repositories to which the account may push have no room for more names.
func (c *call) checkNames(wanted ...string) error {
	if c.grant.Names == 0 {
		return nil
	}
	references, err := c.store.References()
	if err != nil {
		return err
	}
	count := 0
	for _, reference := range references {
		if repository, _, ok := c.own(reference.Name); ok && c.grant.Push(repository) {
			count++
			wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == reference.Name })
		}
	}
	if count+len(wanted) <= c.grant.Names {
		return nil
	}
	return refusal{http.StatusForbidden, "DENIED", fmt.Sprintf("the repositories of this account have %d tags and digests, of at most %d: "+
		"remove images that nothing uses, as with `strata image remove`", count, c.grant.Names)}
}
