//go:build !linux

package untrusted

import (
	"context"
	"os"
)

// Remove removes a folder and all in it, or one file. It follows no link.
func Remove(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
