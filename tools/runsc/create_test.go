package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"gvisor.dev/gvisor/runsc/config"
)

func TestMountsWithOwnersThatCannotWorkAreRefused(t *testing.T) {
	dir := newVolume(t).dir
	option := []string{"rbind", ownersOption}
	for name, c := range map[string]struct {
		mount specs.Mount
		conf  config.Config
		want  string // part of the error; empty means none
	}{
		"a bind mount works":                 {mount: specs.Mount{Type: "bind", Source: dir, Options: option}},
		"other mounts need nothing":          {mount: specs.Mount{Type: "proc"}, conf: config.Config{DirectFS: true}},
		"tmpfs":                              {mount: specs.Mount{Type: "tmpfs", Options: []string{ownersOption}}, want: `its type is "tmpfs"`},
		"the sandbox opens files itself":     {mount: specs.Mount{Type: "bind", Source: dir, Options: option}, conf: config.Config{DirectFS: true}, want: "--directfs=false"},
		"sockets of this machine":            {mount: specs.Mount{Type: "bind", Source: dir, Options: option}, conf: config.Config{HostUDS: config.HostUDSOpen}, want: "--host-uds=none"},
		"a folder that is missing":           {mount: specs.Mount{Type: "bind", Source: filepath.Join(dir, "none"), Options: option}, want: "no such file"},
		"a file system without attributes":   {mount: specs.Mount{Type: "bind", Source: "/proc/sys", Options: option}, want: "use ext4, xfs or btrfs"},
		"a link, which could lead elsewhere": {mount: specs.Mount{Type: "bind", Source: "/proc/self/exe", Options: option}, want: "links have no records"},
	} {
		t.Run(name, func(t *testing.T) {
			c.mount.Destination = "/data"
			err := checkOwners(&specs.Spec{Mounts: []specs.Mount{c.mount}}, &c.conf)
			if c.want == "" && err != nil {
				t.Fatal(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "mount /data")) {
				t.Errorf("%v, want an error about mount /data with %q", err, c.want)
			}
		})
	}
}

func TestMapsOfIDsAreUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"all IDs":                    {"         0          0 4294967295\n", true},
		"one ID":                     {"         0       1000          1\n", false},
		"nobody alone":               {"65534 1000 1\n", true},
		"one and a range of 65536":   {"0 1000 1\n1 100000 65536\n", true},
		"one and a range below":      {"0 1000 1\n1 100000 65533\n", false},
		"nothing":                    {"", false},
		"a text that is not a map":   {"nobody\n", false},
		"a line that ends too early": {"0 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "uid_map")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := mapped(path, nobody); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
