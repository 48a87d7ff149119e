package spec_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

func TestPodsAreValidated(t *testing.T) {
	valid := spec.Network{Address: netip.MustParsePrefix("10.0.0.5/24"), Gateway: netip.MustParseAddr("10.0.0.1"), MAC: "02:00:00:00:00:01", MTU: 1400}
	outside := valid
	outside.Gateway = netip.MustParseAddr("10.0.1.1")
	group := valid
	group.MAC = "01:00:00:00:00:01"
	tests := map[string]struct {
		pod     spec.Pod
		problem string // empty means valid
	}{
		"a pod with a network is valid":    {spec.Pod{ID: "a", Network: valid}, ""},
		"a pod without a network is valid": {spec.Pod{ID: "9d1e7c1a-0001"}, ""},
		"an ID is no path":                 {spec.Pod{ID: "../a"}, `ID "../a"`},
		"an ID is no option":               {spec.Pod{ID: "-a"}, `ID "-a"`},
		"a host name is a name":            {spec.Pod{ID: "a", Hostname: "a\nb"}, "hostname"},
		"a gateway lies in the network":    {spec.Pod{ID: "a", Network: outside}, "gateway 10.0.1.1"},
		"a MAC is unicast":                 {spec.Pod{ID: "a", Network: group}, "MAC"},
		"an unknown sysctl is refused":     {spec.Pod{ID: "a", Sysctls: map[string]string{"kernel.shmmax": "1"}}, "kernel.shmmax=1"},
		"a sysctl that holds is accepted":  {spec.Pod{ID: "a", Sysctls: map[string]string{"net.ipv4.ip_unprivileged_port_start": "0"}}, ""},
		"a flag of gVisor is refused":      {spec.Pod{ID: "a", Annotations: map[string]string{"dev.gvisor.flag.host-uds": "all"}}, "dev.gvisor.flag.host-uds"},
		"a hint for a mount is accepted":   {spec.Pod{ID: "a", Annotations: map[string]string{"dev.gvisor.spec.mount.data.share": "shared"}}, ""},
		"two memories of one name":         {spec.Pod{ID: "a", Memory: []spec.Memory{{Name: "m"}, {Name: "m"}}}, `"m"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { check(t, test.pod.Validate(), test.problem) })
	}
}

func TestContainersAreValidated(t *testing.T) {
	tests := map[string]struct {
		change  func(*spec.Container)
		problem string // empty means valid
	}{
		"a container is valid":             {func(*spec.Container) {}, ""},
		"a root file system is needed":     {func(c *spec.Container) { c.RootFS = spec.RootFS{} }, "root file system"},
		"there is one root file system":    {func(c *spec.Container) { c.RootFS.Folder = "/f" }, "root file system"},
		"a program is needed":              {func(c *spec.Container) { c.Args = nil }, "the program is missing"},
		"an argument has no zero byte":     {func(c *spec.Container) { c.Args = append(c.Args, "a\x00b") }, "zero byte"},
		"a variable has a name":            {func(c *spec.Container) { c.Env = []string{"=x"} }, "no name"},
		"arguments are bounded":            {func(c *spec.Container) { c.Args = append(c.Args, strings.Repeat("x", 2<<20)) }, "at most"},
		"a capability is a name":           {func(c *spec.Container) { c.Capabilities = []string{"ALL"} }, `"ALL"`},
		"a mount does not replace /proc":   {mount(spec.Mount{Kind: spec.Tmpfs, Target: "/proc/sys"}), "/proc/sys"},
		"a mount does not leave its place": {mount(spec.Mount{Kind: spec.Tmpfs, Target: "/a/../proc"}), "/a/../proc"},
		"a source is absolute":             {mount(spec.Mount{Kind: spec.Bind, Source: "etc", Target: "/a"}), `source "etc"`},
		"an option is on the list":         {mount(spec.Mount{Kind: spec.Bind, Source: "/s", Target: "/a", Options: []string{"dev"}}), `option "dev"`},
		"an option of Strata is accepted":  {mount(spec.Mount{Kind: spec.Bind, Source: "/s", Target: "/a", Options: []string{"x-strata-owners"}}), ""},
		"a kind is known":                  {mount(spec.Mount{Kind: "proc", Target: "/a"}), `kind "proc"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := spec.Container{ID: "c", RootFS: spec.RootFS{Image: "/image"}, Process: spec.Process{Args: []string{"/bin/x"}}}
			test.change(&c)
			check(t, c.Validate(), test.problem)
		})
	}
}

func mount(m spec.Mount) func(*spec.Container) {
	return func(c *spec.Container) { c.Mounts = []spec.Mount{m} }
}

func check(t *testing.T, err error, problem string) {
	t.Helper()
	if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
		t.Errorf("got %v, want %q", err, problem)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}
