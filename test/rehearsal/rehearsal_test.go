// Package rehearsal rehearses this version on a copy of a platform that runs.
package rehearsal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/rehearsal"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// canary is the secret of a person in a team's namespace.
const canary = "canary-of-a-person-4711"

// digests returns the digest of each file below some folders of a home.
func digests(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(content))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// canaries returns the secrets of a platform, by what they are.
func canaries(t *testing.T, p *stratatest.Platform) map[string]string {
	t.Helper()
	all := map[string]string{"the Secret of a person": canary}
	for _, name := range []string{"passphrase", "git"} {
		content, err := os.ReadFile(filepath.Join(p.Home, "credentials", name))
		if err != nil {
			t.Fatal(err)
		}
		all["credentials/"+name] = string(content)
	}
	for _, name := range []string{"sql-auth", "strata-context"} {
		secret, err := p.Kubernetes().CoreV1().Secrets("team-web").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"password", "PULUMI_CONFIG_PASSPHRASE"} {
			if value := secret.Data[key]; len(value) > 0 {
				all[name+"."+key] = string(value)
			}
		}
	}
	if len(all) != 5 {
		t.Fatalf("%d canaries", len(all))
	}
	return all
}

// search looks for secrets in all files of a folder, and returns the number of files.
func search(t *testing.T, folder string, secrets map[string]string) (files int) {
	t.Helper()
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // Files come and go.
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		files++
		for name, secret := range secrets {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
				if bytes.Contains(content, []byte(form)) {
					t.Errorf("%s contains %s", path, name)
				}
			}
		}
		return nil
	})
	return files
}

// rehearse rehearses a backup and returns the result. It gives each line of the progress to look.
func rehearse(t *testing.T, p *stratatest.Platform, temporary, file, passphrase string, look func(line string)) (rehearsal.Result, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := p.Command(ctx, "rehearse", "--from", file, "--passphrase-file", passphrase, "-o", "json")
	command.Env = append(command.Env, "TMPDIR="+temporary)
	var out bytes.Buffer
	command.Stdout = &out
	progress, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		t.Log(lines.Text())
		look(lines.Text())
	}
	failed := command.Wait()
	var result rehearsal.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%v, %v: %s", failed, err, out.String())
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the rehearsal leaves %v, %v", left, err)
	}
	return result, failed
}

// well checks that a rehearsal ended well: everything is ready, and so many parts lose nothing.
func well(t *testing.T, result rehearsal.Result, parts int) {
	t.Helper()
	if !result.Ready || result.Losses > 0 || len(result.Left) > 0 || len(result.Parts) != parts {
		t.Errorf("the result: %+v", result)
	}
	for _, part := range result.Parts {
		if part.Changes["same"] == 0 || part.Failed {
			t.Errorf("%s: %+v", part.Name, part.Stack)
		}
	}
}

// writePassphrase writes the file of a backup's passphrase, and creates the folder for temporary files.
func writePassphrase(t *testing.T, p *stratatest.Platform, text string) (passphrase, temporary string) {
	t.Helper()
	passphrase, temporary = filepath.Join(p.Dir, "passphrase"), filepath.Join(p.Dir, "t")
	if err := errors.Join(os.Mkdir(temporary, 0o700), os.WriteFile(passphrase, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return passphrase, temporary
}

func TestARehearsalSeesNoSecretAndWhatAVersionWouldDestroy(t *testing.T) {
	long.Test(t)
	p := stratatest.NewWithTools(t)
	p.Run("up")
	_, err := p.Kubernetes().CoreV1().Secrets("team-web").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "private"}, StringData: map[string]string{"token": canary},
	}, metav1.CreateOptions{FieldManager: "kubectl"})
	if err != nil {
		t.Fatal(err)
	}
	secrets := canaries(t, p)
	passphrase, temporary := writePassphrase(t, p, "the passphrase of a test")
	file := filepath.Join(p.Dir, "backup")
	p.Run("backup", file, "--passphrase-file", passphrase)
	states := []string{filepath.Join(p.Home, "state"), filepath.Join(p.Home, "credentials"), filepath.Join(p.Home, "layers"), filepath.Join(p.Home, "home.json")}
	before := digests(t, states...)

	searched := 0
	result, err := rehearse(t, p, temporary, file, passphrase, func(line string) {
		// Everything exists by now, and the home is removed later.
		if strings.Contains(line, "plan the Stacks") || strings.Contains(line, "apply the Stacks") {
			searched += search(t, temporary, secrets)
		}
	})
	if err != nil {
		t.Error(err)
	}
	well(t, result, 3)
	for _, part := range result.Parts {
		if len(part.Steps) > 0 {
			t.Errorf("the same version changes %s: %+v", part.Name, part.Stack)
		}
	}
	if searched < 200 {
		t.Errorf("only %d files were searched", searched)
	}
	if after := digests(t, states...); after != before {
		t.Errorf("the platform has changed: before\n%s\nafter\n%s", before, after)
	}
	p.Run("status")

	// A commit that replaces the database waits for an approval, and the rehearsal says what it destroys.
	commit(t, p, "web", "app-infra.yaml", "name: web_wordpress\n", "name: web_other\n")
	if out, err := p.Try(t.Context(), "up"); err == nil || !strings.Contains(err.Error()+string(out), "approve") {
		t.Fatalf("up: %v: %s", err, out)
	}
	file = filepath.Join(p.Dir, "changed")
	p.Run("backup", file, "--passphrase-file", passphrase)
	result, err = rehearse(t, p, temporary, file, passphrase, func(string) {})
	if err == nil || result.Losses != 1 || result.Ready {
		t.Errorf("the result: %v, %+v", err, result)
	}
	for _, part := range result.Parts {
		for _, step := range part.Steps {
			if loses := part.Namespace == "team-web" && step.Op == "replace" && step.Name == "database"; step.LosesData != loses {
				t.Errorf("%s: %+v", part.Name, step)
			}
		}
	}
}

// TestThePlatformOfAnEarlierCommitIsRehearsed rehearses each backup of testdata, which the strata of an earlier commit has written: see
// testdata/README.md.
func TestThePlatformOfAnEarlierCommitIsRehearsed(t *testing.T) {
	long.Test(t)
	fixtures, err := filepath.Glob(filepath.Join("testdata", "*.age"))
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("found no backups: %v", err)
	}
	for _, fixture := range fixtures {
		t.Run(strings.TrimSuffix(filepath.Base(fixture), ".age"), func(t *testing.T) {
			p := stratatest.NewWithTools(t)
			passphrase, temporary := writePassphrase(t, p, "the passphrase of a fixture\n")
			file, err := filepath.Abs(fixture)
			if err != nil {
				t.Fatal(err)
			}
			result, err := rehearse(t, p, temporary, file, passphrase, func(string) {})
			if err != nil {
				t.Error(err)
			}
			well(t, result, 3)
		})
	}
}

// commit replaces a text in a file of a team's repository, and pushes the change.
func commit(t *testing.T, p *stratatest.Platform, team, name, from, to string) {
	t.Helper()
	dir := filepath.Join(p.Dir, team)
	p.Run("team", "clone", team, dir)
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), from) {
		t.Fatalf("%s: %v: %s", name, err, content)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"commit", "--quiet", "--all", "--message=Rename the database"}, {"push", "--quiet"}} {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
}
