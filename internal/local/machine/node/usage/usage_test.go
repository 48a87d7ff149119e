package usage

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// fake is a pod with volumes and without programs.
type fake struct {
	volumes []volume.Writable
	evicted string
}

func (f *fake) Object() *corev1.Pod         { return &corev1.Pod{} }
func (f *fake) Writable() []volume.Writable { return f.volumes }
func (f *fake) Evict(message string)        { f.evicted = message }

// write returns a volume with a file of a size in bytes.
func write(t *testing.T, size int, limit string) volume.Writable {
	t.Helper()
	w := volume.Writable{Name: "data", Root: t.TempDir(), Limit: &corev1.EmptyDirVolumeSource{}}
	if limit != "" {
		q := resource.MustParse(limit)
		w.Limit.SizeLimit = &q
	}
	if err := os.WriteFile(filepath.Join(w.Root, "file"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPodsThatExceedABoundAreEvicted(t *testing.T) {
	persistent := write(t, 3<<20, "")
	persistent.Persistent, persistent.Limit = true, nil
	outside := write(t, 8<<20, "")
	link := write(t, 0, "1Mi")
	if err := os.Symlink(outside.Root, filepath.Join(link.Root, "link")); err != nil {
		t.Fatal(err)
	}
	deep := write(t, 0, "")
	if err := os.MkdirAll(filepath.Join(deep.Root, strings.Repeat("d/", deepest+2)), 0o700); err != nil {
		t.Fatal(err)
	}
	many := write(t, 0, "")
	for i := range 101 {
		if err := os.Mkdir(filepath.Join(many.Root, string(rune('a'+i%26))+strings.Repeat("x", i/26)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		volumes []volume.Writable
		want    string // the beginning of the message
	}{
		"an emptyDir below its limit stays":       {[]volume.Writable{write(t, 1<<20, "2Mi")}, ""},
		"an emptyDir above its limit":             {[]volume.Writable{write(t, 1<<20, "64Ki")}, `Usage of EmptyDir volume "data" exceeds the limit "64Ki". `},
		"the sum of volumes without limits":       {[]volume.Writable{write(t, 3<<20, ""), write(t, 3<<20, "")}, "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. "},
		"a volume with a larger limit of its own": {[]volume.Writable{write(t, 5<<20, "6Mi")}, ""},
		"the node's own files count":              {[]volume.Writable{{Name: "files", Root: write(t, 5<<20, "").Root}}, "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. "},
		"a persistent volume has no limit here":   {[]volume.Writable{persistent, persistent}, ""},
		"a link to another folder does not count": {[]volume.Writable{link}, ""},
		"folders that are nested too deep":        {[]volume.Writable{deep}, `EmptyDir volume "data": folders are nested deeper than 200. `},
		"too many files":                          {[]volume.Writable{many}, "The emptyDir volumes of the pod contain more than 100 files. "},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fake{volumes: test.volumes}
			o := Options{Pods: func() []Watched { return []Watched{p} }, Reserve: 1, Pod: 4 << 20, Files: 100, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
			if evicted := o.check(false, 1<<30); evicted != (test.want != "") || p.evicted != test.want {
				t.Errorf("the message is %q, want %q", p.evicted, test.want)
			}
		})
	}
}

func TestAFullDiskEvictsTheLargestPod(t *testing.T) {
	persistent := write(t, 3<<20, "")
	persistent.Persistent, persistent.Limit = true, nil
	small, large := &fake{volumes: []volume.Writable{write(t, 1<<20, "")}}, &fake{volumes: []volume.Writable{persistent}}
	o := Options{
		Pods: func() []Watched { return []Watched{small, large} }, Reserve: 2 << 30, Pod: 1 << 30, Files: 100,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if !o.check(true, 1<<30) || small.evicted != "" {
		t.Errorf("the small pod: %q", small.evicted)
	}
	if want := "The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi. "; large.evicted != want {
		t.Errorf("the large pod: %q, want %q", large.evicted, want)
	}
	if available, err := free(t.TempDir()); err != nil || available <= 0 {
		t.Errorf("free: %d, %v", available, err)
	}
}
