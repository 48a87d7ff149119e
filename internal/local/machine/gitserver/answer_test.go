package gitserver_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

const (
	listed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	other  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
)

// remotes returns the lines of git's output that the server sent, without their prefix.
func remotes(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if said, ok := strings.CutPrefix(line, "remote: "); ok {
			lines = append(lines, strings.TrimRight(said, " \n"))
		}
	}
	return strings.Join(lines, "\n")
}

func TestAPushIsAnsweredWithWhatFluxApplies(t *testing.T) {
	const points = "\nSee the result with `strata status`."
	for name, tc := range map[string]struct {
		files map[string]string
		syncs []gitserver.Sync
		push  []string
		want  string // COMMIT stands for the beginning of the commit's ID
	}{
		"a commit of the applied branch": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": listed},
			want:  "Flux applies commit COMMIT of branch main, folder ./" + points,
		},
		"a file that no kustomization lists": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": listed, "b.yaml": other},
			want:  "Flux applies commit COMMIT of branch main, folder ./\nnot applied: b.yaml: no kustomization.yaml below ./ lists it" + points,
		},
		"a file outside of the folder": {
			files: map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": listed, "b.yaml": other},
			syncs: []gitserver.Sync{{Branch: "main", Spec: trial.Sync{"path": "./app"}}},
			want:  "Flux applies commit COMMIT of branch main, folder ./app\nnot applied: b.yaml: no kustomization.yaml below ./app lists it" + points,
		},
		"a file that the second of two Kustomizations applies": {
			files: map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": listed, "infra/b.yaml": other},
			syncs: []gitserver.Sync{{Branch: "main", Spec: trial.Sync{"path": "./app"}}, {Branch: "main", Spec: trial.Sync{"path": "./infra"}}},
			want:  "Flux applies commit COMMIT of branch main, folder ./app, ./infra" + points,
		},
		"a commit that Flux cannot build": {
			files: map[string]string{"kustomization.yaml": "resources: [none.yaml]"},
			want:  "Flux applies commit COMMIT of branch main, folder ./\nFlux cannot build it: kustomization.yaml lists none.yaml, which does not exist" + points,
		},
		"another branch": {
			push: []string{"main:feature"},
			want: "branch feature is not applied: Flux applies branch main; to apply the commit, push it to that branch",
		},
		"a tag": {
			push: []string{"main:refs/tags/v1"},
			want: "tags/v1 is not applied: Flux applies branch main; to apply the commit, push it to that branch",
		},
		"two branches": {
			push: []string{"main", "main:feature"},
			want: "Flux applies commit COMMIT of branch main, folder ./\nbranch feature is not applied: Flux applies branch main; to apply the commit, push it to that branch" + points,
		},
		"a team that the cluster does not have yet": {
			syncs: []gitserver.Sync{{Branch: "main", Planned: true, Spec: trial.Sync{"path": "./"}}},
			want:  "Flux will apply commit COMMIT of branch main, folder ./, as soon as the platform team has run `strata up`",
		},
		"a source that follows a tag": {
			syncs: []gitserver.Sync{{Spec: trial.Sync{"path": "./"}}},
			want:  "branch main is not applied: Flux applies no branch of this repository",
		},
		"a tag in the range": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": listed, "b.yaml": other},
			syncs: []gitserver.Sync{{Versions: "1.x", Spec: trial.Sync{"path": "./"}}},
			push:  []string{"main:refs/tags/v1.4.0"},
			want: "Flux applies tag v1.4.0, folder ./, if it is the highest in the range and has the signature that the platform team demands\n" +
				"not applied: b.yaml: no kustomization.yaml below ./ lists it" + points,
		},
		"a tag outside of the range": {
			syncs: []gitserver.Sync{{Versions: "1.x", Spec: trial.Sync{"path": "./"}}},
			push:  []string{"main:refs/tags/v2.0.0"},
			want:  "tags/v2.0.0 is not applied: Flux applies the highest tag in the range 1.x; to apply the commit, push a tag in that range",
		},
		"a tag that is no version": {
			syncs: []gitserver.Sync{{Versions: "1.x", Spec: trial.Sync{"path": "./"}}},
			push:  []string{"main:refs/tags/v1"},
			want:  "tags/v1 is not applied: Flux applies the highest tag in the range 1.x; to apply the commit, push a tag in that range",
		},
		"a branch of a repository with tags": {
			syncs: []gitserver.Sync{{Versions: "1.x", Spec: trial.Sync{"path": "./"}}},
			want:  "branch main is not applied: Flux applies the highest tag in the range 1.x; to apply the commit, push a tag in that range",
		},
		"a tag whose build fails": {
			files: map[string]string{"kustomization.yaml": "resources: [none.yaml]"},
			syncs: []gitserver.Sync{{Versions: "1.x", Spec: trial.Sync{"path": "./"}}},
			push:  []string{"main:refs/tags/v1.4.0"},
			want: "Flux applies tag v1.4.0, folder ./, if it is the highest in the range and has the signature that the platform team demands\n" +
				"Flux cannot build it: kustomization.yaml lists none.yaml, which does not exist" + points,
		},
		"an unknown push option": {
			push: []string{"-o", "wiat", "main"},
			want: "Flux applies commit COMMIT of branch main, folder ./\nunknown push option wiat: the server has only `git push -o wait`" + points,
		},
		"a file name with an escape sequence": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": listed, "\x1b[2J\u202e.yaml": other},
			want:  "Flux applies commit COMMIT of branch main, folder ./\nnot applied: \\x1b[2J\\u202e.yaml: no kustomization.yaml below ./ lists it" + points,
		},
		"a branch name with a character that reverses text": {
			push: []string{"main:\u202ebranch"},
			want: "branch \\u202ebranch is not applied: Flux applies branch main; to apply the commit, push it to that branch",
		},
		"more files than an answer names": {
			files: map[string]string{"kustomization.yaml": "resources: []", "1.yaml": other, "2.yaml": other, "3.yaml": other, "4.yaml": other, "5.yaml": other, "6.yaml": other, "7.yaml": other},
			want: "Flux applies commit COMMIT of branch main, folder ./" + strings.Repeat("\nnot applied: N.yaml: no kustomization.yaml below ./ lists it", 5) +
				"\n… and 2 more files" + points,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.StatusCommand = "strata status"
			if tc.syncs != nil {
				s.Syncs = func(context.Context, string) []gitserver.Sync { return tc.syncs }
			}
			if tc.files == nil {
				tc.files = map[string]string{"a.yaml": listed}
			}
			if tc.push == nil {
				tc.push = []string{"main"}
			}
			work := clone(t)
			must(t, work, "remote", "add", "origin", s.remote(t, "web", "web"))
			for file, content := range tc.files {
				commit(t, work, file, content)
			}
			out := must(t, work, slicesOf("push", []string{}, tc.push...)...)
			got := strings.ReplaceAll(remotes(out), must(t, work, "rev-parse", "HEAD")[:8], "COMMIT")
			for _, n := range "1234567" {
				got = strings.ReplaceAll(got, string(n)+".yaml: no", "N.yaml: no")
			}
			if got != tc.want {
				t.Errorf("the answer is\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// slicesOf returns the arguments of a push to origin: options stand before the name of the remote.
func slicesOf(command string, options []string, rest ...string) []string {
	for len(rest) > 1 && rest[0] == "-o" {
		options, rest = append(options, rest[:2]...), rest[2:]
	}
	return append(append(append([]string{command}, options...), "origin"), rest...)
}

func TestOnlyFilesThatAPushChangesAreNamed(t *testing.T) {
	s := newSite(t, nil)
	work := clone(t)
	url := s.remote(t, "web", "web")
	commit(t, work, "kustomization.yaml", "resources: []")
	commit(t, work, "old.yaml", other)
	must(t, work, "push", url, "main")
	commit(t, work, "new.yaml", other)
	out := must(t, work, "push", url, "main")
	if strings.Contains(out, "old.yaml") || !strings.Contains(out, "not applied: new.yaml") {
		t.Errorf("the answer is %s", out)
	}
}

func TestAPushWithTheOptionWaitWaitsForItsResult(t *testing.T) {
	s := newSite(t, nil)
	work := clone(t)
	commit(t, work, "a.yaml", listed)
	head := must(t, work, "rev-parse", "HEAD")
	s.Follow = func(_ context.Context, repository, branch, commit string, say func(string)) string {
		if repository != "web" || branch != "main" || commit != head {
			t.Errorf("it follows %s of %s in %s", commit, branch, repository)
		}
		say("the \x1b[31mStack")
		for range 1000 {
			say("again")
		}
		return "everything is ready"
	}
	out := must(t, work, "push", "-o", "wait", s.remote(t, "web", "web"), "main")
	got := strings.Split(remotes(out), "\n")
	if len(got) != 63 || got[1] != "waiting for the result, at most 5m0s; Ctrl-C ends the wait, but not the push" || got[2] != `the \x1b[31mStack` || got[62] != "everything is ready" {
		t.Errorf("%d lines: %q", len(got), got)
	}
	if out := must(t, work, "push", "-o", "wait", s.remote(t, "web", "web"), "main:feature"); !strings.Contains(out, "branch feature is not applied") || strings.Contains(out, "waiting") {
		t.Errorf("a branch that Flux does not apply: %s", out)
	}
}

func TestLinesOfAWaitArriveWhileItWaits(t *testing.T) {
	s := newSite(t, nil)
	work := clone(t)
	commit(t, work, "a.yaml", listed)
	seen := make(chan struct{})
	s.Follow = func(ctx context.Context, _, _, _ string, say func(string)) string {
		say("one line")
		select {
		case <-seen:
			return "seen"
		case <-ctx.Done():
			return "nobody has seen it"
		}
	}
	command := exec.Command("git", "push", "-o", "wait", s.remote(t, "web", "web"), "main")
	command.Dir = work
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	part := make([]byte, 4096)
	for {
		n, err := output.Read(part)
		all.Write(part[:n])
		if strings.Contains(all.String(), "one line") && !strings.Contains(all.String(), "seen") {
			close(seen)
			s.Follow = nil
		}
		if err != nil {
			break
		}
	}
	if err := command.Wait(); err != nil || !strings.Contains(all.String(), "remote: seen") {
		t.Errorf("%v: %s", err, all.String())
	}
}

func TestWaitingPushesAreBoundedAndBlockNoOthers(t *testing.T) {
	s := newSite(t, nil)
	var waiting, most atomic.Int32
	ended := make(chan struct{}, 100)
	s.Follow = func(ctx context.Context, _, _, _ string, _ func(string)) string {
		most.Store(max(most.Load(), waiting.Add(1)))
		<-ctx.Done()
		waiting.Add(-1)
		ended <- struct{}{}
		return "not ready"
	}
	url := s.remote(t, "web", "web")
	var clients []*exec.Cmd
	pushes := 0
	push := func(options ...string) *exec.Cmd {
		pushes++
		return inGroup(t, "a.yaml", fmt.Sprintf("%s# %d\n", listed, pushes), append(append([]string{"push", "--force"}, options...), url, "main")...)
	}
	for n := range 2 {
		client := push("-o", "wait")
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
		until(t, func() bool { return int(waiting.Load()) == n+1 })
	}
	// The third does not wait, and neither do pushes without the option.
	out, err := push("-o", "wait").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 pushes to this repository already wait for their results: this push does not wait") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := push().CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	// Another team waits beside them.
	client := inGroup(t, "a.yaml", listed, "push", "-o", "wait", s.remote(t, "shop", "shop"), "main")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	clients = append(clients, client)
	until(t, func() bool { return waiting.Load() == 3 })
	// A wait ends with its client.
	for _, client := range clients {
		if err := syscall.Kill(-client.Process.Pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		_ = client.Wait()
	}
	for range clients {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("a wait does not end with its client")
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d pushes wait at once", most.Load())
	}
	until(t, func() bool { left, _ := filepath.Glob(filepath.Join(s.root, ".push-*")); return len(left) == 0 })
}

func TestAWaitEndsAtItsLimit(t *testing.T) {
	s := newSite(t, func(l *gitserver.Limits) { l.Follow = 50 * time.Millisecond })
	s.Follow = func(ctx context.Context, _, _, _ string, _ func(string)) string {
		<-ctx.Done()
		return "not ready yet"
	}
	work := clone(t)
	commit(t, work, "a.yaml", listed)
	if out := must(t, work, "push", "-o", "wait", s.remote(t, "web", "web"), "main"); !strings.Contains(out, "remote: not ready yet") {
		t.Error(out)
	}
}

// inGroup returns a git command in a new clone with one commit. The command leads a group of processes, as in a terminal.
func inGroup(t *testing.T, name, content string, args ...string) *exec.Cmd {
	t.Helper()
	work := clone(t)
	commit(t, work, name, content)
	command := exec.Command("git", args...)
	command.Dir, command.SysProcAttr = work, &syscall.SysProcAttr{Setpgid: true}
	return command
}

// until waits for a condition.
func until(t *testing.T, met func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !met(); {
		if time.Now().After(end) {
			t.Fatal("the condition is not met")
		}
		<-time.After(10 * time.Millisecond)
	}
}
