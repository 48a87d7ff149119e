package publish

import (
	"bytes"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

// repositorySecret is the secret of the Git server's passwords.
const repositorySecret = "secret"

// clone is a clone of the repository of team web on the Git server of a home.
type clone struct {
	t *testing.T
	// dir is the work tree, and url the address of the repository without a login.
	dir, url string
}

// newClone starts a Git server with the repository of team web, and clones it.
func newClone(t *testing.T) *clone {
	t.Helper()
	server, err := gitserver.New(t.TempDir(), repositorySecret, log.New(os.Stderr, "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	if err := server.Create(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	c := &clone{t: t, dir: t.TempDir(), url: listening.URL + "/web.git"}
	c.git("", "init", "--quiet", "--initial-branch=main")
	c.git("", "remote", "add", "origin", strings.Replace(c.url, "http://", "http://web:"+gitserver.Password(repositorySecret, "web")+"@", 1))
	return c
}

// git runs git with an input and returns its output.
func (c *clone) git(input string, args ...string) string {
	c.t.Helper()
	return c.run(input, "git", args...)
}

// shell runs a script in the work tree.
func (c *clone) shell(script string) {
	c.t.Helper()
	c.run("", "sh", "-e", "-c", script)
}

func (c *clone) run(input, name string, args ...string) string {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), name, args...)
	command.Dir, command.Stdin = c.dir, strings.NewReader(input)
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "NO_PROXY=127.0.0.1",
		"GIT_AUTHOR_NAME=Anna", "GIT_AUTHOR_EMAIL=anna@example.com", "GIT_COMMITTER_NAME=Anna", "GIT_COMMITTER_EMAIL=anna@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a file to main, signed by a key if it is not nil, and returns the ID of the commit.
func (c *clone) commit(content string, key *openpgp.Entity) string {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte(content+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.git("", "add", "--all")
	c.git("", "commit", "--quiet", "--message="+content)
	return c.sign(key)
}

// sign signs the latest commit by a key if it is not nil, and returns its ID.
func (c *clone) sign(key *openpgp.Entity) string {
	c.t.Helper()
	if key != nil {
		text := c.git("", "cat-file", "commit", "HEAD") + "\n"
		header, message, _ := strings.Cut(text, "\n\n")
		signature := strings.ReplaceAll(strings.TrimSpace(c.signature(text, key)), "\n", "\n ")
		c.git("", "reset", "--quiet", "--soft", c.git(header+"\ngpgsig "+signature+"\n\n"+message, "hash-object", "-t", "commit", "-w", "--stdin"))
	}
	return c.git("", "rev-parse", "HEAD")
}

// tag makes an annotated tag of a commit, signed by a key.
func (c *clone) tag(name, commit string, key *openpgp.Entity) {
	c.t.Helper()
	text := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger Anna <anna@example.com> 1700000000 +0000\n\nVersion\n", commit, name)
	c.git("", "update-ref", "refs/tags/"+name, c.git(text+c.signature(text, key), "hash-object", "-t", "tag", "-w", "--stdin"))
}

// push pushes references, or deletes those that begin with a colon.
func (c *clone) push(references ...string) {
	c.t.Helper()
	c.git("", append([]string{"push", "--quiet", "--force", "origin"}, references...)...)
}

func (c *clone) signature(text string, key *openpgp.Entity) string {
	c.t.Helper()
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, key, strings.NewReader(text), nil); err != nil {
		c.t.Fatal(err)
	}
	return out.String() + "\n"
}

// newOpenPGPKey returns a key of a person.
func newOpenPGPKey(t *testing.T) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity("Anna", "", "anna@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// trust makes the key of a person the only key of the team's publishers.
func (s *site) trust(t *testing.T, key *openpgp.Entity) {
	t.Helper()
	var text bytes.Buffer
	out, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Serialize(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if suffix := teams.KeySuffix(text.String()); suffix != ".asc" {
		t.Fatalf("teams.yaml takes the key for %q", suffix)
	}
	if err := s.Update(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: keys, Namespace: namespace}, StringData: map[string]string{"publisher-0.asc": text.String()},
	}); err != nil {
		t.Fatal(err)
	}
}

// followGit creates the GitRepository of team web, as layer 2 creates it.
func (s *site) followGit(t *testing.T, c *clone, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	reader := gitserver.Reader("web")
	if err := s.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		StringData: map[string]string{"username": reader, "password": gitserver.Password(repositorySecret, reader)},
	}); err != nil {
		t.Fatal(err)
	}
	spec["interval"], spec["url"], spec["secretRef"] = "1s", c.url, map[string]any{"name": "web"}
	source := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
		"metadata": map[string]any{"namespace": namespace, "name": "web"}, "spec": spec,
	}}
	if err := s.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	return source
}

// notify makes source-controller look at a source at once, as a Receiver does after a push. Its retries wait longer and longer.
func (s *site) notify(t *testing.T, source *unstructured.Unstructured) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": %q}}}`, time.Now().Format(time.RFC3339Nano))
	if err := s.Patch(t.Context(), source.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// says returns what strata status says of the GitRepository of team web, "" if it is ready.
func (s *site) says(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(s.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	all, err := snapshot.Take(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	report, _ := inspect.Of(all, graph.Scope{Teams: []teams.Team{{Name: "web", Versions: "1.x"}}})
	for _, item := range report.Items {
		if item.Kind == graph.GitRepository && item.Namespace == namespace && !item.Ready {
			return item.Reason + ": " + item.Message
		}
	}
	return ""
}
