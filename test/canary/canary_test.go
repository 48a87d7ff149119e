// Package canary looks for the secrets of a platform in all files that the platform writes.
package canary

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

// With this umask every user can read and write a file, unless its creator restricts the mode.
func TestMain(m *testing.M) {
	syscall.Umask(0)
	os.Exit(stratatest.Main(m))
}

// allowed are the files of a home that may contain secrets in plain text, as patterns of relative paths, each with the
// reason. Only their owner may read them.
var allowed = []struct{ pattern, reason string }{
	{"credentials/*", "the home's own credentials"},
	{"kubernetes/*.kubeconfig", "kubeconfigs, with their keys"},
	{"kubernetes/pki/*", "keys of the control plane"},
	{"google/store.db", "the records of the emulated Google Cloud: the certificates of its clusters"},
}

// canaries are the secrets to look for, by description.
type canaries map[string]string

func (c canaries) add(name, secret string) {
	if len(secret) < 8 {
		panic(fmt.Sprintf("the secret %s is too short to search: %d characters", name, len(secret)))
	}
	c[name] = secret
}

// forms returns the encodings in which a secret may appear: plain, base64, quoted in JSON, escaped in a URL.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret)}
	// In base64 a text has three encodings, depending on its offset. This omits the characters that also encode
	// neighbouring bytes.
	for shift := range 3 {
		code := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		all = append(all, code[(shift*8+5)/6:(shift+len(secret))*8/6])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// keySize is the number of bytes by which finder looks up forms. No form is shorter.
const keySize = 8

// finder finds secrets in texts in one pass over each text.
type finder struct {
	// first contains the first two bytes of the keys, as a filter for most positions of a text.
	first [1 << 16]bool
	// forms are the forms of the secrets by their first keySize bytes.
	forms map[[keySize]byte][]form
}

// form is one encoding of the secret called name.
type form struct {
	name string
	text []byte
}

func (c canaries) finder() *finder {
	f := &finder{forms: map[[keySize]byte][]form{}}
	for name, secret := range c {
		for _, text := range forms(secret) {
			f.first[binary.LittleEndian.Uint16([]byte(text))] = true
			key := [keySize]byte([]byte(text))
			f.forms[key] = append(f.forms[key], form{name, []byte(text)})
		}
	}
	return f
}

// find returns the names of the secrets that a text contains.
func (f *finder) find(text []byte) []string {
	var found []string
	for ; len(text) >= keySize; text = text[1:] {
		if !f.first[binary.LittleEndian.Uint16(text)] {
			continue
		}
		for _, form := range f.forms[[keySize]byte(text)] {
			if bytes.HasPrefix(text, form.text) {
				found = append(found, form.name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestSecretsAreFoundInAllEncodings(t *testing.T) {
	c := canaries{"key": "-----BEGIN KEY-----\nabc/def+ghi\n"}
	f := c.finder()
	for _, text := range []string{
		c["key"], "before " + c["key"], `{"key": "-----BEGIN KEY-----\nabc/def+ghi\n"}`,
		base64.StdEncoding.EncodeToString([]byte("x" + c["key"] + "yz")), base64.StdEncoding.EncodeToString([]byte("user:" + c["key"])),
		"https://user:" + url.QueryEscape(c["key"]) + "@example.com",
	} {
		if !slices.Equal(f.find([]byte(text)), []string{"key"}) {
			t.Errorf("not found in %q", text)
		}
	}
	if found := f.find([]byte("-----BEGIN KEY-----\nabc")); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// TestSecretsAreNowhereInPlainText runs a platform through its whole life and looks for its secrets in all files and outputs.
func TestSecretsAreNowhereInPlainText(t *testing.T) {
	long.Test(t)
	p := stratatest.NewWithTools(t)
	watched := watchProcesses(t, p)
	said := map[string][]byte{}
	say := func(args ...string) {
		t.Helper()
		command := p.Command(t.Context(), args...)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("strata %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		said[strings.Join(args, " ")] = out
	}
	say("up")
	say("status")
	say("status", "-o", "json")
	say("local", "status", "-o", "json")
	for _, layer := range []string{"bootstrap", "platform"} {
		say("layer", "preview", layer)
		say("layer", "preview", layer, "-o", "json")
		say("layer", "up", layer, "-o", "json")
		say("layer", "outputs", layer)
		say("layer", "outputs", layer, "-o", "json")
	}
	say("logs", "stack/wordpress-infra")
	known := secretsOf(t, p)
	t.Logf("the search is for %d secrets", len(known))
	secrets := known.finder()

	for name, out := range said {
		for _, secret := range secrets.find(out) {
			t.Errorf("`strata %s` prints %s", name, secret)
		}
	}
	secrets.searchHome(t, p.Home)
	checkModes(t, p.Home)
	secrets.searchRepositories(t, p.Home)
	lines, environments := watched()
	if len(lines) < 20 {
		t.Errorf("the test has seen the arguments of only %d processes", len(lines))
	}
	for line := range lines {
		for _, secret := range secrets.find([]byte(line)) {
			program, _, _ := strings.Cut(line, "\x00")
			t.Errorf("a process of %s had %s in its arguments", program, secret)
		}
	}
	searchMaterial(t, p, passphrases(t, p), environments)
	for pid, process := range p.Processes() {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read the environment of %s: %s", process.Line, info.Mode())
		}
	}
}

// secretsOf returns the secrets that a platform has created.
func secretsOf(t *testing.T, p *stratatest.Platform) canaries {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	h, err := home.At(p.Home)
	check(err)
	c := canaries{}
	for _, name := range []string{"passphrase", supervisor.GitSecret} {
		secret, err := h.Secret(name)
		check(err)
		c.add("the home's secret "+name, secret)
	}
	git, err := h.Secret(supervisor.GitSecret)
	check(err)
	for _, account := range []string{gitserver.Engineer, "fleet", "web", gitserver.Reader("fleet"), gitserver.Reader("platform"), gitserver.Reader("web")} {
		c.add("the Git password of "+account, gitserver.Password(git, account))
	}
	kubeconfig, err := clientcmd.LoadFromFile(h.AdminKubeconfig())
	check(err)
	for name, user := range kubeconfig.AuthInfos {
		c.add("the key of the kubeconfig's user "+name, string(user.ClientKeyData))
	}
	var engineer map[string]string
	raw, err := os.ReadFile(h.EngineerCredentials())
	check(err)
	check(json.Unmarshal(raw, &engineer))
	c.add("the engineer's Google token", engineer["refresh_token"])

	outputs, out := layer1(t, p)
	handed, err := clientcmd.Load([]byte(outputs.Kubeconfig))
	check(err)
	for name, user := range handed.AuthInfos {
		c.add("the key of the handed-over user "+name, string(user.ClientKeyData))
	}
	for name, key := range privateKeys(out) {
		c.add("the private key "+name, key)
	}
	c.add("the passphrase of the team's state", outputs.Tenants["web"].Passphrase)
	database, err := p.Kubernetes().CoreV1().Secrets("team-web").Get(t.Context(), "sql-auth", metav1.GetOptions{})
	check(err)
	c.add("the password of the team's database", string(database.Data["password"]))
	return c
}

// outputs are the outputs of layer 1 that are secret.
type outputs struct {
	Kubeconfig string `json:"kubeconfig"`
	Tenants    map[string]struct {
		Passphrase string `json:"passphrase"`
	} `json:"tenants"`
}

// layer1 returns the outputs of layer 1, decrypted, and the same as text.
func layer1(t *testing.T, p *stratatest.Platform) (outputs, []byte) {
	t.Helper()
	var read outputs
	out := p.Run("layer", "outputs", "bootstrap", "--show-secrets", "-o", "json")
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatal(err)
	}
	return read, out
}

// passphrases returns the passphrases of all states of a platform.
func passphrases(t *testing.T, p *stratatest.Platform) []string {
	t.Helper()
	h, err := home.At(p.Home)
	if err != nil {
		t.Fatal(err)
	}
	own, err := h.Secret("passphrase")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{own}
	read, _ := layer1(t, p)
	for _, tenant := range read.Tenants {
		all = append(all, tenant.Passphrase)
	}
	return all
}

// privateKeys returns the private keys of Google accounts anywhere in the layer's outputs.
func privateKeys(outputs []byte) map[string]string {
	found := map[string]string{}
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if key, ok := value["private_key"].(string); ok {
				found[fmt.Sprint(value["client_email"])] = key
			}
			for _, v := range value {
				walk(v)
			}
		case string:
			var inner map[string]any
			if json.Unmarshal([]byte(value), &inner) == nil {
				walk(inner)
			}
		}
	}
	var all any
	_ = json.Unmarshal(outputs, &all)
	walk(all)
	return found
}

// searchHome searches every file of the home. A file that may contain secrets must be readable by its owner only.
func (f *finder) searchHome(t *testing.T, dir string) {
	t.Helper()
	used := map[string]bool{}
	files(t, dir, func(name string, raw []byte) {
		found := f.find(raw)
		if len(found) == 0 {
			return
		}
		reason := reasonFor(name, used)
		if reason == "" {
			t.Errorf("%s contains %s", name, strings.Join(found, ", "))
			return
		}
		if private, err := onlyOwner(dir, filepath.Join(dir, name)); err != nil || !private {
			t.Errorf("%s (%s) contains %s, and other users can read it (%v)", name, reason, strings.Join(found, ", "), err)
		}
	})
	for _, a := range allowed {
		if !used[a.pattern] {
			t.Errorf("%s contains none of the secrets: remove it from the list", a.pattern)
		}
	}
}

// files calls see with each regular file below a folder: its path from there, and its content. A file that disappears meanwhile is left
// out.
func files(t *testing.T, dir string, see func(name string, raw []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // The file has been deleted.
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			see(name, raw)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reasonFor returns the reason why a file may contain secrets, and records that the reason is used. It returns "" if the
// file may not.
func reasonFor(name string, used map[string]bool) string {
	for _, a := range allowed {
		prefix, below := strings.CutSuffix(a.pattern, "*")
		if ok, _ := filepath.Match(a.pattern, name); ok || below && strings.HasPrefix(name, prefix) {
			used[a.pattern] = true
			return a.reason
		}
	}
	return ""
}

// ownModes are the folders of a home in which programs set the modes of files and folders themselves, with the reason. Other
// users cannot reach these, because they cannot enter a folder above.
var ownModes = map[string]string{
	"google/sql/": "Dolt gives its files the mode 0666 and more",
	"pods/":       "a pod chooses the modes of the files in its volumes, and its users read them",
	"volumes/":    "as in pods/",
}

// checkModes finds the folders, files and sockets of the home that other users may access.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	checked := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() == fs.ModeSymlink {
			return nil //nolint:nilerr // The file has been deleted.
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		checked++
		name, _ := filepath.Rel(dir, path)
		own := slices.ContainsFunc(slices.Collect(maps.Keys(ownModes)), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if info.Mode().Perm()&0o077 == 0 {
			return nil
		}
		if private, err := onlyOwner(dir, path); !own || err == nil && !private {
			t.Errorf("other users have permissions for %s: %s", path, info.Mode())
		}
		return nil
	})
	if checked < 100 {
		t.Errorf("the test has checked the modes of only %d files", checked)
	}
}

// onlyOwner reports whether only its owner can read a file: because of the file's mode, or the mode of a folder above it
// up to the home.
func onlyOwner(home, path string) (bool, error) {
	for {
		info, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		if info.Mode().Perm()&0o077 == 0 {
			return true, nil
		}
		if path == home {
			return false, nil
		}
		path = filepath.Dir(path)
	}
}

// searchRepositories searches every object of every Git repository, including unreachable ones.
func (f *finder) searchRepositories(t *testing.T, dir string) {
	t.Helper()
	h, err := home.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	repositories, _ := filepath.Glob(filepath.Join(h.Git(), "*.git"))
	if len(repositories) < 3 {
		t.Fatalf("the repositories are only %v", repositories)
	}
	for _, repository := range repositories {
		command := exec.CommandContext(t.Context(), "git", "-C", repository, "cat-file", "--batch", "--batch-all-objects")
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+repository)
		objects, err := command.Output()
		if err != nil {
			t.Fatalf("read the objects of %s: %v", repository, err)
		}
		for _, secret := range f.find(objects) {
			t.Errorf("the repository %s contains %s", filepath.Base(repository), secret)
		}
	}
}

const (
	// watchEvery is the polling interval of the arguments of processes. It is shorter than the interval between two starts
	// of any process.
	watchEvery = 5 * time.Millisecond
	// settledAfter is the number of polls after which a process counts as one of another program. A process of the platform
	// has the arguments of its parent until it executes its program.
	settledAfter = 20
)

// watchProcesses records the arguments and the environments of all of the platform's processes, and of git, until the returned function
// is called. An environment begins with the name of its program and a zero byte.
func watchProcesses(t *testing.T, p *stratatest.Platform) func() (arguments, environments map[string]bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen, environments := map[string]bool{}, map[string]bool{}
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		polls := map[string]int{} // of each present process, by its ID
		for ; ctx.Err() == nil; <-ticker.C {
			present := map[string]int{}
			for _, pid := range processIDs() {
				present[pid] = polls[pid] + 1
				if present[pid] > settledAfter {
					continue
				}
				line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
				program, _, _ := strings.Cut(string(line), "\x00")
				if strings.Contains(string(line), p.Home) || filepath.Base(program) == "git" || filepath.Base(program) == "pulumi" {
					if !seen[string(line)] {
						environment, _ := os.ReadFile(filepath.Join("/proc", pid, "environ"))
						environments[program+"\x00"+string(environment)] = true
					}
					seen[string(line)] = true
					present[pid] = 0 // The process may execute another program.
				}
			}
			polls = present
		}
	})
	return func() (map[string]bool, map[string]bool) {
		cancel()
		group.Wait()
		return seen, environments
	}
}

// processIDs returns the IDs of all processes of the machine.
func processIDs() []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '0' || name[0] > '9' })
}
