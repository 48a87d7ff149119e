package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

// request sends a request to the API server with web's kubeconfig. The body is JSON; for a PATCH it is a merge patch.
func request(verb, path, body string) func(*crossing) error {
	return func(c *crossing) error { return c.request(c.web, nil, verb, path, body) }
}

// requestAs sends a request that impersonates a user.
func requestAs(user, verb, path string) func(*crossing) error {
	return func(c *crossing) error {
		return c.request(c.web, func(config *rest.Config) { config.Impersonate.UserName = user }, verb, path, "")
	}
}

func (c *crossing) request(kubeconfig string, change func(*rest.Config), verb, path, body string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	call := client.Discovery().RESTClient().Verb(verb).AbsPath(path)
	if body != "" {
		call = call.Body([]byte(c.fill(body))).SetHeader("Content-Type", "application/json")
	}
	if verb == http.MethodPatch {
		call = call.SetHeader("Content-Type", "application/merge-patch+json")
	}
	return refusal(call.Do(context.Background()).Error())
}

// made creates a Stack or Program in web's namespace with web's kubeconfig. resource is the plural of the kind.
func made(resource, object string) func(*crossing) error {
	return request(http.MethodPost, ofWeb+resource, object)
}

// refusal wraps an error of the API server in errDenied if the error is a denial.
func refusal(err error) error {
	if err != nil && refusedByKubernetes(err) {
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	return err
}

// fill replaces placeholders in a text by the addresses of this platform.
func (c *crossing) fill(text string) string {
	return strings.NewReplacer("SHOP_REPOSITORY", c.status.GitURL+"/shop.git", "SHOP_STATE", c.home.TenantState("team-shop"),
		"ENGINEER", c.home.EngineerCredentials()).Replace(text)
}

// committed pushes an object to web's repository and waits until Flux has tried to apply it.
func committed(object string) func(*crossing) error {
	return func(c *crossing) error {
		commit, err := c.push(object)
		if err != nil {
			return err
		}
		return c.eventually(func() (bool, error) {
			sync, err := c.look("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-web/kustomizations/web")
			if err != nil {
				return false, err
			}
			attempted, _, _ := unstructured.NestedString(sync, "status", "lastAttemptedRevision")
			ready := conditionOf(sync, "Ready")
			if !strings.HasSuffix(attempted, commit) || ready["status"] == "Unknown" {
				return false, nil
			}
			if ready["status"] == "False" {
				return true, fmt.Errorf("%w: %s", errDenied, ready["message"])
			}
			return true, nil
		})
	}
}

// push replaces the content of attempt.yaml in web's repository by an object, or empties the file, and returns the commit.
func (c *crossing) push(object string) (string, error) {
	if err := os.WriteFile(filepath.Join(c.repository, "attempt.yaml"), []byte(c.fill(object)), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"add", "attempt.yaml"}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--all", "--allow-empty", "--message=Try"}, {"push", "--quiet"},
	} {
		if out, err := c.git(args...); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return c.git("rev-parse", "HEAD")
}

// gitAs runs git as an account against a repository, with the logins in the home.
func gitAs(account, repository string, args ...string) func(*crossing) error {
	return func(c *crossing) error {
		remote, err := url.Parse(c.status.GitURL + "/" + repository + ".git")
		if err != nil {
			return err
		}
		remote.User = url.User(account)
		for i := range args {
			if args[i] == "REMOTE" {
				args[i] = remote.String()
			}
		}
		out, err := c.git(args...)
		if err != nil && strings.Contains(out, "403") {
			return fmt.Errorf("%w: %s", errDenied, out)
		}
		return err
	}
}

func (c *crossing) git(args ...string) (string, error) {
	command := exec.Command("git", append([]string{"-c", "credential.helper=store --file=" + c.home.GitCredentials()}, args...)...)
	command.Dir = c.repository
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// passwordOf returns an account's password from the file of git-credential-store.
func (c *crossing) passwordOf(account string) (string, error) {
	logins, err := os.ReadFile(c.home.GitCredentials())
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(logins)) {
		// After a login, git rewrites the address in its own form.
		_, login, _ := strings.Cut(line, "://"+account+":")
		if password, _, found := strings.Cut(login, "@"); found {
			return password, nil
		}
	}
	return "", fmt.Errorf("the file contains no login of %s", account)
}

// asReader logs in as the account that reads shop's repository, with web's password.
func asReader(c *crossing) error {
	password, err := c.passwordOf("web")
	if err != nil {
		return err
	}
	call, err := http.NewRequest(http.MethodGet, c.status.GitURL+"/shop.git/info/refs?service=git-upload-pack", http.NoBody)
	if err != nil {
		return err
	}
	call.SetBasicAuth(gitserver.Reader("shop"), password)
	return answer(http.DefaultClient.Do(call))
}

// call calls a Google API with web's identity. The endpoint is a variable of cloud.Endpoints.
func call(method, endpoint, path, body string) func(*crossing) error {
	return func(c *crossing) error {
		address := cloud.Endpoints(c.status.GoogleURL)[endpoint] + path
		request, err := http.NewRequest(method, address, bytes.NewBufferString(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		return answer(oauth2.NewClient(context.Background(), c.google).Do(request))
	}
}

// answer returns an error for an unsuccessful response.
func answer(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		text, err := io.ReadAll(response.Body)
		return errors.Join(fmt.Errorf("%w: %s: %s", errDenied, response.Status, text), err)
	}
	err = googleapi.CheckResponse(response)
	if code := codeOf(err); code == http.StatusForbidden || code == http.StatusConflict {
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	return err
}

// look reads an object as the administrator.
func (c *crossing) look(path string) (map[string]any, error) {
	client, err := clientOf(c.admin)
	if err != nil {
		return nil, err
	}
	raw, err := client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	var object map[string]any
	return object, json.Unmarshal(raw, &object)
}

func conditionOf(object map[string]any, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return map[string]any{}
}

// crossingTimeout is generous, because a machine that runs other tests at the same time is slow.
const crossingTimeout = 2 * time.Minute

func (c *crossing) eventually(check func() (bool, error)) error {
	deadline := time.Now().Add(crossingTimeout)
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the attempt has no result after %s", crossingTimeout)
		}
		<-time.After(pollEvery)
	}
}
