//go:build !linux

package untrusted

import (
	"context"
	"os"
)

// Remove removes a file, or a folder with everything in it. Remove follows no links.
func Remove(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
