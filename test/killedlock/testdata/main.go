// Command main is killed while it writes an object to a file backend of Pulumi: the backend's folder and the object's key
// are the arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob"
)

func main() {
	ctx := context.Background()
	// Pulumi adds no_tmp_dir to the address of each file backend.
	bucket, err := blob.OpenBucket(ctx, "file://"+os.Args[1]+"?metadata=skip&no_tmp_dir=true")
	if err == nil {
		// fileblob calls BeforeWrite when it has created the file, and before it writes to the file.
		err = bucket.WriteAll(ctx, os.Args[2], []byte("{}"), &blob.WriterOptions{BeforeWrite: func(func(any) bool) error {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}})
	}
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(1)
}
