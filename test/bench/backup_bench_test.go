package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// Bounds of a backup, and of a restore until everything is Ready.
const (
	backupBound  = 5 * time.Second
	restoreBound = 90 * time.Second
)

// BenchmarkBackupAndRestore backs a platform up, loses its home and its cluster, and restores both beside the cloud.
func BenchmarkBackupAndRestore(b *testing.B) {
	p := stratatest.NewWithTools(b)
	file, passphrase, cloud := filepath.Join(p.Dir, "backup"), filepath.Join(p.Dir, "passphrase"), filepath.Join(p.Dir, "cloud")
	if err := os.WriteFile(passphrase, []byte("the passphrase of a benchmark"), 0o600); err != nil {
		b.Fatal(err)
	}
	p.Run("up")
	began := time.Now()
	p.Run("backup", file, "--passphrase-file", passphrase)
	figure.Seconds(b, "backup", time.Since(began), backupBound)

	p.Run("local", "stop")
	if err := errors.Join(os.Rename(filepath.Join(p.Home, "google"), cloud), os.RemoveAll(p.Home)); err != nil {
		b.Fatal(err)
	}
	began = time.Now()
	p.Run("restore", file, "--cloud", cloud, "--passphrase-file", passphrase)
	p.Run("up")
	figure.Seconds(b, "restore until everything is Ready", time.Since(began), restoreBound)
}
