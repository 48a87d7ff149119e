package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/docstest"
)

// good returns the facts of a machine that meets every requirement.
func good() Facts {
	return Facts{
		System: "linux", Go: "go1.26.8", NeedsGo: "go1.26.0", Git: "2.39.5", HTTPBackend: true, Kubectl: true,
		Cores: 2, Memory: 8e9, FreeMemory: 6e9, Cache: "/cache", Home: "/home", CacheFree: 50e9, HomeFree: 50e9,
		OpenFiles: 20000, Landlock: 7, Tools: []toolchain.Status{{Name: "etcd", State: toolchain.Ready}, {Name: "dolt", State: toolchain.Ready}},
	}
}

// running returns the status of a supervisor with all parts ready.
func running(processes ...process.State) *supervisor.Status {
	ready := supervisor.Health{Ready: true}
	return &supervisor.Status{Pid: 7, Cluster: supervisor.ClusterRunning, ControlPlane: ready, Node: ready, Processes: processes}
}

func TestAGoodMachineHasNoFindings(t *testing.T) {
	report := Check(good())
	if !report.OK {
		t.Error("the report is not ok")
	}
	for _, f := range report.Findings {
		if f.Level != OK && f.Level != Note || f.Remedy != "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestFindings(t *testing.T) {
	noGo := fmt.Errorf("ask: %w, and more", toolchain.ErrNoGo)
	toMake := []toolchain.Status{{Name: "etcd", State: toolchain.Ready}, {Name: "dolt", State: toolchain.Missing}}
	for _, test := range []struct {
		name   string
		change func(*Facts)
		want   Finding // Found and Remedy are substrings
	}{
		{"another system", func(f *Facts) { f.System = "darwin" }, Finding{"system", Warning, "darwin: processes may outlive", "use Linux"}},
		{"root", func(f *Facts) { f.Root = true }, Finding{"system", Warning, "as root", "ordinary user"}},
		{"no Go", func(f *Facts) { f.GoError, f.Tools = noGo, toMake }, Finding{"go", Missing, "no Go on PATH", "https://go.dev/dl and put it on PATH, or take the tools from a release: `strata toolchain fetch`"}},
		{"no Go, and no list of tools", func(f *Facts) { f.GoError, f.Tools = noGo, nil }, Finding{"go", Missing, "no Go on PATH", "https://go.dev/dl"}},
		{"no Go, and all tools", func(f *Facts) { f.GoError = noGo }, Finding{"go", Note, "no Go on PATH: only tools that are missing and", ""}},
		{"a broken Go", func(f *Facts) { f.GoError, f.Tools = errors.New("go env: denied"), toMake }, Finding{"go", Missing, "go env: denied", "https://go.dev/dl"}},
		{"old Go", func(f *Facts) { f.Go, f.Tools = "go1.25.9", toMake }, Finding{"go", Missing, "go1.25.9, but Strata needs 1.26.0", "GOTOOLCHAIN=auto"}},
		{"old Go, and all tools", func(f *Facts) { f.Go = "go1.25.9" }, Finding{"go", Note, "go1.25.9, but Strata needs 1.26.0 or newer: only", ""}},
		{"no right to write to the home", func(f *Facts) { f.HomeDenied = errors.New("this user cannot write to /clone") },
			Finding{"home", Missing, "cannot write to /clone", "export STRATA_HOME="}},
		{"no right to write to the cache", func(f *Facts) { f.CacheDenied = errors.New("this user cannot write to /cache") },
			Finding{"cache", Missing, "cannot write to /cache", "export XDG_CACHE_HOME="}},
		{"another home with the same teams", func(f *Facts) { f.Sharing = []string{"/a/.strata"} },
			Finding{"teams", Note, "also that of /a/.strata", "only in this home"}},
		{"no git", func(f *Facts) { f.GitError = errors.New("git: not found") }, Finding{"git", Missing, "git: not found", "install git, 2.31 or newer"}},
		{"old git", func(f *Facts) { f.Git = "2.9.5" }, Finding{"git", Missing, "2.9.5, but Strata needs 2.31", "install git"}},
		{"git without its server", func(f *Facts) { f.HTTPBackend = false }, Finding{"git", Missing, "2.39.5 without http-backend", "install the whole of git"}},
		{"a missing tool", func(f *Facts) { f.Tools = toMake }, Finding{"tools", Warning, "1 of 2 are not built yet: dolt", "strata toolchain build --all"}},
		{"no tool", func(f *Facts) { f.Tools = toMake[1:] }, Finding{"tools", Warning, "none of 1 is built yet", "strata toolchain build --all"}},
		{"a tool of one's own", func(f *Facts) {
			f.Tools = append(f.Tools, toolchain.Status{Name: "kube-apiserver", State: toolchain.Override, Path: "/mine"})
		}, Finding{"tools", Note, "kube-apiserver is your own: STRATA_TOOL_KUBE_APISERVER=/mine", ""}},
		{"a cache that cannot be read", func(f *Facts) { f.ToolsError = errors.New("denied") }, Finding{"tools", Missing, "denied", "fix this error"}},
		{"leftovers", func(f *Facts) { f.Leftover = 3e9 }, Finding{"tools", Note, "3.0 GB of tools that this version of Strata does not use in /cache", "strata toolchain prune"}},
		{"one core", func(f *Facts) { f.Cores = 1 }, Finding{"cores", Warning, "1: everything takes twice as long", "second core"}},
		{"too little memory", func(f *Facts) { f.Memory = 1e9 }, Finding{"memory", Missing, "1.0 GB in all", "4 GB or more"}},
		{"memory in use", func(f *Facts) { f.FreeMemory = 19e8 }, Finding{"memory", Warning, "1.9 GB free of 8.0 GB: a platform", "end other programs"}},
		{"too little memory to build", func(f *Facts) { f.FreeMemory, f.Tools = 39e8, toMake }, Finding{"memory", Warning, "3.9 GB free of 8.0 GB: building", "end other programs"}},
		{"memory in use by the platform", func(f *Facts) { f.FreeMemory, f.Supervisor = 1e9, &supervisor.Status{} }, Finding{"memory", OK, "1.0 GB free", ""}},
		{"a full disk", func(f *Facts) { f.CacheFree = 4e8 }, Finding{"cache", Missing, "400 MB free in /cache", "XDG_CACHE_HOME"}},
		{"too little space to build", func(f *Facts) { f.CacheFree, f.Tools = 9e9, toMake }, Finding{"cache", Warning, "9.0 GB free in /cache, 10.0 GB are better", "XDG_CACHE_HOME"}},
		{"little space at home", func(f *Facts) { f.HomeFree = 1e9 }, Finding{"home", Warning, "1.0 GB free in /home, 2.0 GB are better", "STRATA_HOME"}},
		{"few files", func(f *Facts) { f.OpenFiles = 1024 }, Finding{"limits", Warning, "1024 files", "4096"}},
		{"one loopback address", func(f *Facts) { f.Loopback = errors.New("no such address") }, Finding{"loopback", Warning, "no such address", "alias"}},
		{"a taken port", func(f *Facts) { f.TakenPorts = []string{"git: port 5 is in use by nc (pid 7)"} }, Finding{"ports", Missing, "by nc (pid 7)", "end that program"}},
		{"namespaces", func(*Facts) {}, Finding{"isolation", OK, "isolate the teams' Programs", ""}},
		{"no namespaces", func(f *Facts) { f.Isolation = "AppArmor restricts user namespaces" }, Finding{"isolation", Warning, "every service of this machine: AppArmor", "allow user namespaces"}},
		{"no Landlock", func(f *Facts) { f.Landlock, f.Isolation = 0, "no namespaces" }, Finding{"landlock", Warning, "can read and change all", "5.13"}},
		{"the first Landlock", func(f *Facts) { f.Landlock, f.Isolation = 2, "no namespaces" }, Finding{"landlock", Warning, "version 2: a team's Program can empty files", "6.2"}},
		{"an old Landlock", func(f *Facts) { f.Landlock, f.Isolation = 5, "no namespaces" }, Finding{"landlock", Warning, "version 5: a team's Program can signal", "6.12"}},
		{"no kubectl", func(f *Facts) { f.Kubectl = false }, Finding{"kubectl", Note, "does not need it", "kubernetes.io"}},
		{"a supervisor that does not answer", func(f *Facts) { f.SupervisorError = errors.New("deadline") }, Finding{"platform", Warning, "deadline", "strata logs supervisor"}},
		{"nothing runs", func(*Facts) {}, Finding{"platform", OK, "nothing runs in /home", ""}},
		{"a platform that runs", func(f *Facts) { f.Supervisor = running() }, Finding{"platform", OK, "supervisor (pid 7) runs, its cluster is running", ""}},
		{"a platform that stops", func(f *Facts) { f.Supervisor = running(); f.Supervisor.Stopping = true }, Finding{"platform", Note, "supervisor (pid 7) is stopping", ""}},
		{"a cluster that failed", func(f *Facts) {
			f.Supervisor = &supervisor.Status{Pid: 7, Cluster: supervisor.ClusterFailed, ClusterError: "etcd ended"}
		}, Finding{"platform", Warning, "its cluster does not: etcd ended", "strata local start"}},
		{"a node that is not ready", func(f *Facts) {
			f.Supervisor = running()
			f.Supervisor.Node = supervisor.Health{Message: "no lease"}
		}, Finding{"platform", Warning, "its node is not ready: no lease", "strata local status"}},
		{"a program that was restarted", func(f *Facts) {
			f.Supervisor = running(process.State{Name: "etcd", Running: true, Restarts: 3, LastExit: &process.Exit{Message: "killed"}})
		}, Finding{"platform", Note, "etcd runs; restarts: 3: killed", "see `strata logs etcd`"}},
		{"a program that does not run", func(f *Facts) {
			f.Supervisor = running(process.State{Name: "kube-scheduler", Phase: process.CrashLooping, LastExit: &process.Exit{Message: "exit status 1"}})
		}, Finding{"platform", Warning, "kube-scheduler is crash looping: exit status 1", "see `strata logs kube-scheduler`"}},
		{"what local is not", func(*Facts) {}, Finding{"local", Note, "a pod whose registry does not answer is simulated", ""}},
		{"no sandboxes", func(f *Facts) {
			f.Pods = &sandboxes.UnsupportedError{Reason: sandboxes.AppArmorRestricted, Fix: "sudo sysctl x=0", Err: errors.New("operation not permitted")}
		}, Finding{"pods", Warning, "are simulated: operation not permitted", "sudo sysctl x=0"}},
		{"no Linux", func(f *Facts) {
			f.Pods = &sandboxes.UnsupportedError{Reason: sandboxes.NotLinux, Err: errors.New("it has no namespaces")}
		}, Finding{"pods", Warning, "are simulated: it has no namespaces", "use Linux"}},
		{"what local simulates", func(*Facts) {}, Finding{"local", Note, "simulated", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := good()
			test.change(&facts)
			report := Check(facts)
			if report.OK != (test.want.Level != Missing) {
				t.Errorf("the report is ok: %v", report.OK)
			}
			for _, f := range report.Findings {
				if f.Check == test.want.Check && f.Level == test.want.Level && strings.Contains(f.Found, test.want.Found) {
					if !strings.Contains(f.Remedy, test.want.Remedy) || (f.Remedy == "") != (test.want.Remedy == "") {
						t.Errorf("the remedy is %q, want %q", f.Remedy, test.want.Remedy)
					}
					if strings.Contains(f.Found+f.Remedy, "\n") {
						t.Errorf("%q is more than a line", f)
					}
					return
				}
			}
			t.Errorf("want %+v, the findings are %+v", test.want, report.Findings)
		})
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	Report{Findings: []Finding{{"go", OK, "go1.26.8", ""}, {"landlock", Missing, "none", "get it"}}}.Print(&out)
	const want = "✓ go        go1.26.8\n✗ landlock  none\n            → get it\n\nThis machine does not meet every requirement (✗).\n"
	if out.String() != want {
		t.Errorf("printed is\n%s\nwant\n%s", out.String(), want)
	}
}

func TestOutputIsDocumented(t *testing.T) {
	docstest.CheckJSON[Report](t, "docs/reference/output.md", "doctor")
}

// TestLookChangesNothing looks at this machine, with a home that does not exist and with a home in which nothing has
// run.
func TestLookChangesNothing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	tools, err := toolchain.Open(toolchaintest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		make func(dir string) (home.Home, error)
	}{{"no home", home.At}, {"a new home", home.Open}} {
		t.Run(test.name, func(t *testing.T) {
			parent := t.TempDir()
			h, err := test.make(filepath.Join(parent, "home"))
			if err != nil {
				t.Fatal(err)
			}
			before := files(t, parent)
			facts := Look(t.Context(), tools, h)
			if after := files(t, parent); after != before {
				t.Errorf("it made of %q %q", before, after)
			}
			if files(t, cache) != "" {
				t.Error("it wrote into the cache")
			}
			if facts.Supervisor != nil || facts.SupervisorError != nil || facts.GoError != nil || facts.ToolsError != nil || facts.GitError != nil {
				t.Errorf("the facts are %+v", facts)
			}
			if facts.Go == "" || facts.NeedsGo == "" || facts.Git == "" || facts.HomeFree == 0 || facts.CacheFree == 0 || len(facts.Tools) == 0 {
				t.Errorf("there are facts missing in %+v", facts)
			}
		})
	}
}

func TestLookFindsTheHolderOfAPort(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.Listen("git")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if taken := takenPorts(h); len(taken) != 1 || !strings.Contains(taken[0], "git: port ") {
		t.Errorf("taken are %q", taken)
	}
}

// files lists all files and folders below a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}
