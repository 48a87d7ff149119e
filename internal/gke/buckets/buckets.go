// Package buckets reads the states of Stacks from buckets of Cloud Storage, and decrypts those that Cloud KMS encrypts, as the
// engineer.
package buckets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/backup"
)

// prefix begins the names of the objects of Pulumi's backend, and states the names of the states.
const (
	prefix = ".pulumi/"
	states = prefix + "stacks/"
	meta   = prefix + "meta.yaml"
)

// Client calls Cloud Storage and Cloud KMS.
type Client struct {
	storage *storage.Service
	kms     *cloudkms.Service
	// keys holds the decrypted keys of states by the encrypted ones.
	keys map[string][]byte
}

// New returns a client with the engineer's login.
func New(ctx context.Context) (*Client, error) {
	options, err := clientOptions(ctx)
	if err != nil {
		return nil, err
	}
	c := &Client{keys: map[string][]byte{}}
	if c.storage, err = storage.NewService(ctx, options...); err != nil {
		return nil, fmt.Errorf("log in to Cloud Storage: %w", err)
	}
	if c.kms, err = cloudkms.NewService(ctx, options...); err != nil {
		return nil, fmt.Errorf("log in to Cloud KMS: %w", err)
	}
	return c, nil
}

// Copy copies the states of a bucket to a new folder, at most a number and at most a size in bytes. The account of the team writes the
// bucket, so nothing in it can make Copy fail: left says what Copy has left out, and why.
func (c *Client) Copy(ctx context.Context, bucket, folder string, most int, size int64) (left []string, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	count := 0
	for _, from := range []string{meta, states} {
		err := c.storage.Objects.List(bucket).Prefix(from).Fields("nextPageToken", "items(name,size)").Pages(ctx, func(page *storage.Objects) error {
			for _, object := range page.Items {
				if count++; count > most {
					left = append(left, fmt.Sprintf("the states after the first %d in bucket %s", most, bucket))
					return errEnough
				}
				if !isState(object.Name) {
					continue
				}
				if int64(object.Size) > size || backup.CheckPath(object.Name) != nil {
					left = append(left, fmt.Sprintf("the state %.200q", object.Name))
					continue
				}
				if err := c.copy(ctx, bucket, object.Name, root, size); err != nil {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					left = append(left, fmt.Sprintf("the state %.200q (%v)", object.Name, err))
					continue
				}
				size -= int64(object.Size)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return left, brief(bucket, err)
		}
	}
	return left, nil
}

// errEnough ends a list.
var errEnough = errors.New("enough")

// isState reports whether an object is a state, possibly compressed, or the file with the version of the backend.
func isState(name string) bool {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return name == meta || strings.HasSuffix(plain, ".json")
}

// copy copies an object to a file below root.
func (c *Client) copy(ctx context.Context, bucket, name string, root *os.Root, most int64) error {
	response, err := c.storage.Objects.Get(bucket, name).Context(ctx).Download()
	if err != nil {
		return brief(bucket, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && int64(len(content)) > most {
		err = errors.New("it is too large")
	}
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return err
	}
	return root.WriteFile(filepath.FromSlash(name), content, 0o600)
}

// brief returns an error of a call with the next step.
func brief(bucket string, err error) error {
	refusal := (*googleapi.Error)(nil)
	if !errors.As(err, &refusal) {
		return fmt.Errorf("read bucket %s: %w", bucket, err)
	}
	if refusal.Code == 401 || refusal.Code == 403 {
		return fmt.Errorf("read bucket %s: %s: give your account roles/storage.objectViewer on it", bucket, refusal.Message)
	}
	return fmt.Errorf("read bucket %s: %s", bucket, refusal.Message)
}
