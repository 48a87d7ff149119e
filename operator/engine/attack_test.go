package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
)

// hostile returns an engine whose pulumi is a script that acts like a program that has
// taken over its run. In the script, $log is the event log and $dir the run's folder.
func hostile(t *testing.T, script string) fixture {
	t.Helper()
	tools := t.TempDir()
	const begin = `#!/bin/sh
for a in "$@"; do
	case $last in --event-log) log=$a ;; --file) file=$a ;; esac
	last=$a
done
dir=$(cd "$HOME/.." && pwd)
case " $* " in *" stack init "*) exit 0 ;; esac
`
	for name, content := range map[string]string{"pulumi": begin + script, "pulumi-language-yaml": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return fixture{
		Engine:  &engine.Engine{Folders: &workdir.Folders{Parent: t.TempDir()}, Env: []string{"PATH=" + tools + ":/usr/bin:/bin"}},
		backend: filepath.Join(t.TempDir(), "backend"),
	}
}

// attack runs a request, and fails the test if the run does not end by itself.
func (f fixture) attack(t *testing.T, req engine.Request) (*engine.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	result, err := f.Run(ctx, req)
	if ctx.Err() != nil {
		t.Fatalf("the run did not end (error %v)", err)
	}
	if left, readErr := os.ReadDir(f.Folders.Parent); readErr != nil || len(left) != 0 {
		t.Errorf("folder of runs holds %v (%v), want nothing", left, readErr)
	}
	return result, err
}

func TestRunThatAttacksItsOperatorEnds(t *testing.T) {
	const outputs = `{"resOutputsEvent": {"metadata": {"type": "pulumi:pulumi:Stack", "new": {"outputs": {"a": 1}}}}}`
	for name, c := range map[string]struct {
		script  string
		message string
		reason  engine.Reason
	}{
		"events in a pipe of its own":          {script: `rm "$log"; mkfifo "$log"`},
		"a pipe that a hidden process holds":   {script: `exec 9<>"$log"; setsid sleep 1000 & rm "$log"; mkfifo "$log"`},
		"events in a link":                     {script: `rm "$log"; ln -s /proc/self/environ "$log"`},
		"events in a folder":                   {script: `rm "$log"; mkdir "$log"`},
		"an event without end":                 {script: `exec cat /dev/zero >"$log"`, reason: engine.TooLarge, message: "an event of the run is larger than 16777216 bytes"},
		"events without end":                   {script: `exec yes "{\"x\": \"$(head -c 60000 /dev/zero | tr '\0' x)\"}" >"$log"`, reason: engine.TooLarge, message: "the events of the run are larger than"},
		"an event by one that ignores signals": {script: `trap '' INT; cat /dev/zero >"$log"`, reason: engine.TooLarge, message: "an event of the run is larger than"},
		"an endless event, stopped gracefully": {script: `cat /dev/zero >"$log" & trap 'kill $!; exit 0' INT; wait`, reason: engine.TooLarge, message: "and its resources stay, but an event of the run is larger"},
		"output without end":                   {script: `exec yes`, reason: engine.TooLarge, message: "the run has printed more than 67108864 bytes: make its program print less"},
		"deep nesting":                         {script: `head -c 9000000 /dev/zero | tr '\0' '[' >"$log"`, message: "decode event log"},
		"no events":                            {script: `echo no >"$log"`, message: "decode event log"},
		"half an event":                        {script: `printf '{"a":' >"$log"`, message: "decode event log"},
		"pipes in place of its files":          {script: `cd /; rm -rf "$dir"/* 2>/dev/null; for f in token kubeconfig project home tmp; do rm -rf "$dir/$f"; mkfifo "$dir/$f"; done`},
		"a tree that forbids its removal":      {script: `mkdir -p "$dir/a/b/c"; chmod 0 "$dir/a/b"; chmod 0 "$dir/a"`},
		"a link to what is beside":             {script: `ln -s "$dir/../../" "$dir/up"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && strings.Contains(c.script, "trap ''") {
				t.Skip("it takes as long as pulumi may take to stop")
			}
			f := hostile(t, c.script+"\n")
			_, err := f.attack(t, f.request(""))
			failure := (*engine.Error)(nil)
			switch {
			case c.message == "" && err != nil:
				t.Errorf("error %v", err)
			case c.message != "" && (err == nil || !strings.Contains(err.Error(), c.message)):
				t.Errorf("error %v, want one that holds %q", err, c.message)
			case c.reason != "" && (!errors.As(err, &failure) || failure.Reason != c.reason):
				t.Errorf("error %v, want reason %s", err, c.reason)
			}
		})
	}
	t.Run("and its own outputs count", func(t *testing.T) {
		f := hostile(t, "echo '"+outputs+"' >\"$log\"\n")
		if result, err := f.attack(t, f.request("")); err != nil || string(result.Outputs["a"].Value) != "1" {
			t.Errorf("result %v, error %v", result, err)
		}
	})
}

// replaced is a script that replaces the project with something else. The script then
// reports a missing stack, so that the engine starts again.
const replaced = `case " $* " in
*" config set "*) exit 0 ;;
*" up "*) test -e "$dir/again" && exit 0; touch "$dir/again"; cd /; mv "$dir/project" "$dir/old"; %s; exit 6 ;;
esac
`

func TestProjectThatARunReplacesIsNotFollowed(t *testing.T) {
	beside := t.TempDir()
	for name, attack := range map[string]string{
		"by a pipe":           `mkfifo "$dir/project"`,
		"by a link":           `ln -s ` + beside + ` "$dir/project"`,
		"with settings of it": `mkdir "$dir/project"; mkfifo "$dir/project/Pulumi.dev.yaml"; rm -f "$dir/old/Pulumi.dev.yaml"; mkfifo "$dir/old/Pulumi.dev.yaml"`,
		"with a huge file":    `ln -s old "$dir/project"; truncate -s 3G "$dir/old/Pulumi.dev.yaml"`,
	} {
		t.Run(name, func(t *testing.T) {
			f := hostile(t, fmt.Sprintf(replaced, attack))
			req := f.request("")
			req.SecretConfig = map[string]string{"token": "canary-4711"}
			_, err := f.attack(t, req)
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
			if entries, err := os.ReadDir(beside); err != nil || len(entries) != 0 {
				t.Errorf("beside the run are %v (%v)", entries, err)
			}
		})
	}
}

func TestRecoveryBoundsTheStateThatItReads(t *testing.T) {
	for name, c := range map[string]struct{ script, message string }{
		"a state without end":        {`exec cat /dev/zero >"$file"`, "the stack's state is larger than 67108864 bytes: remove resources from it"},
		"a pipe in place of a state": {`rm "$file"; mkfifo "$file"`, "decode the state"},
		"no state":                   {`echo no >"$file"`, "decode the state"},
		"operations without number":  {`{ printf '{"deployment": {"pending_operations": ['; yes '{"type": "creating"},' | head -n 5000; echo '{}]}}'; } >"$file"`, "an interrupted run left 5001 pending operations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := hostile(t, `test -z "$file" || { `+c.script+"; }\n")
			req := f.request("")
			req.Interrupted = true
			if _, err := f.attack(t, req); err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
		})
	}
}

func TestHostileStateFoldersAreReadSafely(t *testing.T) {
	for name, c := range map[string]struct {
		attack  func(dir string) error
		message string
	}{
		"a pipe in place of locks": {attack: func(dir string) error {
			locks := filepath.Join(dir, "locks", "organization", "shop")
			return errors.Join(os.MkdirAll(locks, 0o700), syscall.Mkfifo(filepath.Join(locks, "dev"), 0o600))
		}, message: "look for locks"},
		"a state of 3 GB": {attack: func(dir string) error {
			state := filepath.Join(dir, "stacks", "shop", "dev.json")
			return errors.Join(os.MkdirAll(filepath.Dir(state), 0o700), os.WriteFile(state, nil, 0o600), os.Truncate(state, 3<<30))
		}, message: "the stack's state has 3221225472 bytes, and the limit is 67108864"},
		"a pipe in place of a state": {attack: func(dir string) error {
			state := filepath.Join(dir, "stacks", "shop", "dev.json")
			return errors.Join(os.MkdirAll(filepath.Dir(state), 0o700), syscall.Mkfifo(state, 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := hostile(t, `test -z "$file" || echo '{"deployment": {}}' >"$file"`+"\n")
			if err := c.attack(filepath.Join(f.backend, ".pulumi")); err != nil {
				t.Fatal(err)
			}
			req := f.request("")
			req.Interrupted = true
			_, err := f.attack(t, req)
			if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
		})
	}
}

func TestOutputsBeyondTheBoundsAreNamed(t *testing.T) {
	const begin, end = `{"resOutputsEvent": {"metadata": {"type": "pulumi:pulumi:Stack", "new": {"outputs": {`, `}}}}}`
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprintf(`"o%d": 1`, i)
	}
	large := strings.Repeat("x", 4<<20)
	secret := `{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "` + large + `"}`
	for name, c := range map[string]struct {
		outputs, message string
		operation        engine.Operation
		recorded         int
	}{
		"too large":       {outputs: `"small": 1, "data": "` + large + `", "other": "` + large[:70000] + `"`, message: "up succeeded, and its resources stay, but its outputs have 4264323 bytes in total, and the limit is 65536: data (4194310 bytes), other (70007 bytes), small (6 bytes); put large data into a bucket"},
		"too many":        {outputs: strings.Join(many, ","), message: "but it has 501 outputs, and the limit is 500"},
		"too deep":        {outputs: `"deep": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100), message: "but its output deep is nested deeper than 32 levels"},
		"a long name":     {outputs: `"` + large + `": 1`, message: "..."},
		"a large secret":  {outputs: `"a": ` + secret, recorded: 1},
		"just right":      {outputs: `"a": "` + large[:65000] + `"`, recorded: 1},
		"of a preview":    {outputs: `"data": "` + large + `"`, operation: engine.Preview},
		"no finite value": {outputs: `"a": 1e400`, recorded: 1},
	} {
		t.Run(name, func(t *testing.T) {
			events := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(events, []byte(begin+c.outputs+end+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			f := hostile(t, "cat \"${0%/*}/events\" >\"$log\"\n")
			tools := strings.TrimPrefix(strings.SplitN(f.Env[0], ":", 2)[0], "PATH=")
			if err := os.Rename(events, filepath.Join(tools, "events")); err != nil {
				t.Fatal(err)
			}
			req := f.request("")
			if c.operation != "" {
				req.Operation = c.operation
			}
			result, err := f.attack(t, req)
			if c.message == "" {
				if err != nil || len(result.Outputs) != c.recorded {
					t.Fatalf("%d outputs, error %v", len(result.Outputs), err)
				}
				for name, o := range result.Outputs {
					if !o.Secret && !json.Valid(o.Value) {
						t.Errorf("output %s is not valid", name)
					}
				}
				return
			}
			failure := (*engine.Error)(nil)
			if !errors.As(err, &failure) || failure.Reason != engine.TooLarge || !failure.Done || !strings.Contains(failure.Message, c.message) || len(failure.Message) > 1100 {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
		})
	}
}

// salted is a project with a salt that no passphrase uses.
type salted struct{ salt string }

func (s salted) Fetch(_ context.Context, dst string) (string, error) {
	return "main@1", errors.Join(
		os.WriteFile(filepath.Join(dst, "Pulumi.yaml"), []byte("name: shop\nruntime: yaml\n"), 0o600),
		os.WriteFile(filepath.Join(dst, "Pulumi.dev.yaml"), []byte("encryptionsalt: "+s.salt+"\n"), 0o600))
}

func TestSaltOfAProjectDelaysNoRun(t *testing.T) {
	for name, c := range map[string]struct{ salt, passphrase, message string }{
		"without a passphrase":   {salt: "v1:AAAA:v1:AAAA:AAAA"},
		"of no known form":       {salt: "x", passphrase: "open sesame", message: "has an unknown form"},
		"with a wrong nonce":     {salt: "'v1:AAAA:v1:AA==:AAAA'", passphrase: "open sesame", message: "encrypted with another passphrase"},
		"with nothing encrypted": {salt: "'v1:AAAA:'", passphrase: "open sesame", message: "encrypted with another passphrase"},
	} {
		t.Run(name, func(t *testing.T) {
			f := hostile(t, "")
			req := f.request("")
			req.Program, req.Source = nil, salted{c.salt}
			req.Env = map[string]string{"PULUMI_CONFIG_PASSPHRASE": c.passphrase}
			req.SecretConfig = map[string]string{"a": "canary-1", "b": "canary-2"}
			_, err := f.attack(t, req)
			if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
		})
	}
}
