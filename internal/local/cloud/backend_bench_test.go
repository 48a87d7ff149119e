package cloud_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
)

// backendRuns is the number of runs of each kind, enough for a median on a busy machine.
const backendRuns = 9

// BenchmarkStateInABucket compares an update of three resources whose state is in a bucket with one whose state is in
// files. It alternates between both, so that other load affects both.
func BenchmarkStateInABucket(b *testing.B) {
	c := newEmulator(b, false)
	owner := c.storageAs(c.engineer)
	c.newBucket(owner, "team-web-state")
	email, key := c.account("team-web")
	c.grantOn("team-web-state", "serviceAccount:"+email, "roles/storage.objectUser", nil)
	backends := map[string]*pulumiRuns{"files": c.pulumi(b, "file://"+b.TempDir(), key), "bucket": c.pulumi(b, "gs://team-web-state", key)}
	times := map[string][]time.Duration{}
	for _, p := range backends {
		p.must("stack", "init", "dev")
	}
	for i := range backendRuns + 1 {
		for _, where := range []string{"files", "bucket"} {
			p := backends[where]
			p.three(strconv.Itoa(i))
			start := time.Now()
			p.must("up", "--yes", "--skip-preview")
			if i > 0 { // the first run creates, the others update
				times[where] = append(times[where], time.Since(start))
			}
		}
	}
	median := func(where string) time.Duration {
		slices.Sort(times[where])
		return times[where][len(times[where])/2]
	}
	figure.Seconds(b, "update with its state in files", median("files"), 0)
	figure.Seconds(b, "update with its state in a bucket", median("bucket"), 0)
	figure.AtMost(b, "state in a bucket beside state in files", 100*float64(median("bucket"))/float64(median("files")), 0, "%")
}

// three writes a program of three resources that all change with the value.
func (p *pulumiRuns) three(value string) {
	p.Helper()
	program := "name: tiny\nruntime: yaml\nresources:\n"
	for _, name := range []string{"one", "two", "three"} {
		program += "  " + name + ":\n    type: pulumi:index:Stash\n    properties:\n      input: " + strconv.Quote(value) + "\n"
	}
	if err := os.WriteFile(filepath.Join(p.dir, "Pulumi.yaml"), []byte(program), 0o600); err != nil {
		p.Fatal(err)
	}
}
