package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// team holds a team's means: its kubeconfig, and a clone of its repository with the login to push.
type team struct {
	f         *field
	name      string
	namespace string
	clone     string
	client    dynamic.Interface
}

var (
	stacks         = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}
	programs       = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "programs"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

func (f *field) newTeam(clone, name string) *team {
	f.Helper()
	t := &team{f: f, name: name, namespace: "team-" + name, clone: filepath.Join(f.platform.Dir, "repository-"+name)}
	kubeconfig := strings.TrimSpace(string(f.strata(clone, "kubeconfig", "--team", name)))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	f.must(err)
	config.QPS = -1
	t.client, err = dynamic.NewForConfig(config)
	f.must(err)
	remote := strings.Replace(f.status.GitURL, "//", "//"+name+"@", 1) + "/" + name + ".git"
	_, err = run(f.Context(), "", "git", "-c", "credential.helper=store --file="+f.home.GitCredentials(), "clone", "--quiet",
		"--config", "credential.helper=store --file="+f.home.GitCredentials(),
		"--config", "core.compression=0", // Compression of large pushes takes time, and does not matter for the attacks.
		remote, t.clone)
	f.must(err)
	return t
}

// push commits files and pushes the commit. It removes a file with empty content. If the server rejects the push, push
// returns an error that wraps errStopped, and reverts the commit.
func (t *team) push(ctx context.Context, files map[string]string) (commit string, err error) {
	for name, content := range files {
		path := filepath.Join(t.clone, name)
		if content == "" {
			_ = os.RemoveAll(path)
			continue
		}
		if target, link := strings.CutPrefix(content, "-> "); link {
			_ = os.Remove(path)
			if err := os.Symlink(target, path); err != nil {
				return "", err
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--allow-empty", "--message=Change"}} {
		if _, err := run(ctx, t.clone, append([]string{"git"}, args...)...); err != nil {
			return "", err
		}
	}
	if _, err := run(ctx, t.clone, "git", "push", "--quiet"); err != nil {
		_, undo := run(context.WithoutCancel(ctx), t.clone, "git", "reset", "--quiet", "--hard", "@{upstream}")
		return "", errors.Join(refusal("%w", err), undo)
	}
	commit, err = run(ctx, t.clone, "git", "rev-parse", "HEAD")
	return strings.TrimSpace(commit), err
}

// undo restores the content of the repository at a commit, and pushes it.
func (t *team) undo(ctx context.Context, commit string) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := run(ctx, t.clone, "git", "read-tree", "--reset", "-u", commit); err != nil {
		return err
	}
	_, err := t.push(ctx, nil)
	return err
}

func (t *team) head(ctx context.Context) (string, error) {
	commit, err := run(ctx, t.clone, "git", "rev-parse", "HEAD")
	return strings.TrimSpace(commit), err
}

// synced waits until Flux has applied a commit, or has reported an error, which stops the attack.
func (t *team) synced(ctx context.Context, commit string) error {
	return eventually(ctx, "team "+t.name+"'s commit "+commit+" is applied", func(ctx context.Context) (bool, error) {
		sync, err := t.client.Resource(kustomizations).Namespace(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		applied, _, _ := unstructured.NestedString(sync.Object, "status", "lastAppliedRevision")
		attempted, _, _ := unstructured.NestedString(sync.Object, "status", "lastAttemptedRevision")
		ready := condition(sync, "Ready")
		switch {
		case strings.HasSuffix(applied, commit):
			return true, nil
		case strings.HasSuffix(attempted, commit) && ready["status"] == "False":
			return true, refusal("%v", ready["message"])
		}
		return false, nil
	})
}

// apply creates or replaces an object with the team's kubeconfig.
func (t *team) apply(ctx context.Context, resource schema.GroupVersionResource, object string) (name string, err error) {
	content := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(object), content); err != nil {
		return "", fmt.Errorf("%w:\n%s", err, object)
	}
	_, err = t.client.Resource(resource).Namespace(t.namespace).Create(ctx, content, metav1.CreateOptions{})
	if err != nil && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)) {
		return "", refusal("%w", err)
	}
	return content.GetName(), err
}

// remove deletes an object and waits until it is gone.
func (t *team) remove(ctx context.Context, resource schema.GroupVersionResource, name string) error {
	all := t.client.Resource(resource).Namespace(t.namespace)
	if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return eventually(ctx, name+" is gone", func(ctx context.Context) (bool, error) {
		_, err := all.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func condition(o *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range all {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return map[string]any{}
}

// works returns an error if the team cannot work: it pushes a commit, and waits until its Stack and its sync are ready.
func (t *team) works(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attackTimeout)
	defer cancel()
	commit, err := t.push(ctx, map[string]string{"note.txt": unique()})
	if err != nil {
		return err
	}
	if err := t.synced(ctx, commit); err != nil {
		return fmt.Errorf("the push of team %s is not applied: %w", t.name, err)
	}
	return t.runs(ctx, "note", unique())
}
