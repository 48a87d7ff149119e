package controller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/githubapp"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/source"
)

// program is the program of a Stack.
type program struct {
	// project is the Pulumi project's name. project is empty until the project has been
	// fetched.
	project string

	// revision is the revision of the source.
	revision string

	// content is a complete Pulumi.yaml. If content is nil, source has the files, and path
	// is the project's folder in them.
	content []byte
	source  engine.Source
	path    string
}

// sourceFields lists the source fields for messages. A Stack sets exactly one of them.
const sourceFields = "spec.programRef, spec.fluxSource or spec.projectRepo"

// program determines the Stack's program.
func (s *session) program(ctx context.Context) (*program, error) {
	spec := &s.stack.Spec
	if spec.ProjectRepo == "" {
		s.lookups.Forget(s.key())
	}
	switch {
	case spec.ProgramRef != nil:
		return s.inlineProgram(ctx, spec.ProgramRef.Name)
	case spec.FluxSource != nil:
		return s.fluxProgram(ctx, spec.FluxSource)
	case spec.ProjectRepo != "":
		return s.gitProgram(ctx)
	}
	return nil, invalid("no source: set %s", sourceFields)
}

// inlineProgram reads and checks a Program.
func (s *session) inlineProgram(ctx context.Context, name string) (*program, error) {
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: name}
	s.depend(dependency{scope{programResource, key.Namespace}, key.Name})
	object := &v1.Program{}
	if err := s.reader.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, unavailable("spec.programRef: there is no Program %s: create it", key)
	} else if err != nil {
		return nil, fmt.Errorf("spec.programRef: %w", err)
	}
	content, revision, err := project(object)
	if err != nil {
		return nil, err
	}
	if err := checkProgram(object, content, configKeys(&s.stack.Spec)); err != nil {
		return nil, unavailable("Program %s: %v", key, err)
	}
	return &program{project: name, revision: revision, content: content}, nil
}

// fluxProgram reads the address of a Flux source's artifact.
func (s *session) fluxProgram(ctx context.Context, from *v1.FluxSource) (*program, error) {
	const field = "spec.fluxSource"
	ref := from.SourceRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || version.Group == "" || ref.Kind == "" || ref.Name == "" {
		return nil, invalid("%s.sourceRef: give apiVersion, kind and name of a Flux source, for example %s", field, exampleSource)
	}
	kind := version.WithKind(ref.Kind)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	s.depend(dependency{scope{resource, s.stack.Namespace}, ref.Name})

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: ref.Name}
	if err := s.reader.Get(ctx, key, object); meta.IsNoMatchError(err) {
		return nil, unavailable("%s: this cluster has no kind %s of %s: install it, or correct sourceRef", field, ref.Kind, ref.APIVersion)
	} else if apierrors.IsNotFound(err) {
		return nil, unavailable("%s: there is no %s %s: create it", field, ref.Kind, key)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	artifact := &v1.Artifact{}
	content, found, err := unstructured.NestedMap(object.Object, "status", "artifact")
	if err == nil && found {
		err = kruntime.DefaultUnstructuredConverter.FromUnstructured(content, artifact)
	}
	if err != nil {
		return nil, unavailable("%s: status.artifact of %s %s cannot be read: %v", field, ref.Kind, key, err)
	}
	if artifact.URL == "" {
		return nil, unavailable("%s: %s %s has no artifact yet%s", field, ref.Kind, key, notReady(object))
	}
	// If only spec.ignore of the source changes, the digest changes and the revision does
	// not.
	s.refs.versions["artifact"] = artifact.Digest
	return &program{
		revision: artifact.Revision,
		source:   source.Artifact{URL: artifact.URL, Digest: artifact.Digest, Revision: artifact.Revision},
		path:     folder(from.Dir),
	}, nil
}

const exampleSource = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: app}"

// notReady returns the message of an object's Ready condition if the object is not
// ready.
func notReady(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == v1.ReadyCondition && c["status"] != "True" {
			return fmt.Sprintf(": %v", c["message"])
		}
	}
	return ""
}

// gitProgram determines the commit to run.
func (s *session) gitProgram(ctx context.Context) (*program, error) {
	git := &s.stack.Spec.GitSource
	auth, app, err := s.gitAuth(ctx, git)
	if err != nil {
		return nil, err
	}
	repository := source.Git{URL: git.ProjectRepo, Branch: git.Branch, Commit: git.Commit, Shallow: git.Shallow, Auth: auth}
	ask := func(ctx context.Context) (source.Git, error) { return s.resolveGit(ctx, repository, app) }
	var found *lookup.Finding
	if git.Commit != "" && app == nil {
		// A fixed commit needs no server.
		found = &lookup.Finding{}
		found.Git, found.Err = ask(ctx)
	} else if found = s.lookups.Find(s.key(), s.question(repository, app), s.current, ask); found == nil {
		return nil, fmt.Errorf("spec.projectRepo: %w", lookup.ErrActive)
	}
	if found.Err != nil {
		return nil, found.Err
	}
	s.asked = found.At
	if app != nil {
		s.refs.used = append(s.refs.used, found.Git.Auth.Token)
	}
	return &program{revision: found.Git.Commit, source: found.Git, path: folder(git.RepoDir)}, nil
}

// resolveGit determines the commit, and gets the token of a GitHub App.
func (r *stackReconciler) resolveGit(ctx context.Context, repository source.Git, app *githubapp.App) (source.Git, error) {
	if app != nil {
		token, err := r.github.Token(ctx, app)
		if err != nil {
			return repository, unavailable("spec.gitAuth.githubApp: %v", err)
		}
		repository.Auth.Token = token
	}
	// The folder holds Git credentials. Engine.Clean removes it even after the operator
	// was killed.
	dir, err := r.engine.MakeFolder()
	if err != nil {
		return repository, fmt.Errorf("spec.projectRepo: make a folder for git: %w", err)
	}
	defer r.engine.RemoveFolder(dir)
	head, err := repository.Head(ctx, dir)
	if errors.Is(err, source.ErrInvalid) {
		return repository, invalid("spec.projectRepo: %v", err)
	} else if err != nil {
		return repository, unavailable("spec.projectRepo: %v", err)
	}
	repository.Commit, repository.Branch = head, ""
	return repository, nil
}

// question identifies a lookup. A new generation, a new reconcile request and other
// credentials each need a new lookup.
func (s *session) question(repository source.Git, app *githubapp.App) string {
	if app == nil {
		app = &githubapp.App{}
	}
	text := fmt.Sprintf("%d %q %#v %#v", s.stack.Generation, s.stack.Annotations[v1.ReconcileRequestAnnotation], repository, *app)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// current reports whether a finding is still valid. A finding is valid while a run
// waits with it, because a new lookup would only make the run wait again.
func (s *session) current(found *lookup.Finding) bool {
	age := time.Since(found.At)
	switch {
	case found.Err != nil:
		return age < schedule.SourceRetry
	case s.slots.Has(s.key()):
		return true
	case s.stack.Spec.GitAuth != nil && s.stack.Spec.GitAuth.GitHubApp != nil && age >= githubapp.TokenSpare:
		return false
	}
	return s.stack.Spec.Branch == "" || age < schedule.Resync(s.stack)
}

// gitAuth reads the credentials of the repository.
func (s *session) gitAuth(ctx context.Context, git *v1.GitSource) (auth source.GitAuth, app *githubapp.App, err error) {
	var values []gitValue
	switch from := git.GitAuth; {
	case from == nil && git.GitAuthSecret != "":
		auth, err = s.gitAuthSecret(ctx, git.GitAuthSecret)
		return auth, nil, err
	case from == nil:
		return auth, nil, nil
	case from.SSHAuth != nil:
		values = []gitValue{{"sshAuth.sshPrivateKey", &from.SSHAuth.SSHPrivateKey, &auth.SSHKey}, {"sshAuth.password", from.SSHAuth.Password, &auth.SSHKeyPassword}}
	case from.PersonalAccessToken != nil:
		values = []gitValue{{"accessToken", from.PersonalAccessToken, &auth.Token}}
	case from.GitHubApp != nil:
		app = &githubapp.App{}
		values = []gitValue{
			{"githubApp.appID", &from.GitHubApp.AppID, &app.ID},
			{"githubApp.installationID", &from.GitHubApp.InstallationID, &app.Installation},
			{"githubApp.privateKey", &from.GitHubApp.PrivateKey, &app.Key},
		}
	case from.BasicAuth != nil:
		values = []gitValue{{"basicAuth.userName", &from.BasicAuth.UserName, &auth.User}, {"basicAuth.password", &from.BasicAuth.Password, &auth.Password}}
	default:
		return auth, nil, invalid("spec.gitAuth: set one of accessToken, sshAuth, basicAuth and githubApp")
	}
	if err = s.gitValues(ctx, values); err == nil && git.GitAuth.SSHAuth != nil {
		auth.KnownHosts, err = s.knownHosts(ctx, git.GitAuth.SSHAuth.SSHPrivateKey)
	}
	return auth, app, err
}

// knownHosts reads the known_hosts beside an SSH key. As in the Secrets of Flux, its
// key is known_hosts. knownHosts returns an empty string if there is none.
func (s *session) knownHosts(ctx context.Context, key v1.ResourceRef) (string, error) {
	if key.Secret == nil {
		return "", nil
	}
	secret, err := s.refs.secret(ctx, "spec.gitAuth.sshAuth.sshPrivateKey", key.Secret.Name)
	if err != nil {
		return "", err
	}
	return string(secret.Data["known_hosts"]), nil
}

// gitValue is a credential with its field, its reference and its destination.
type gitValue struct {
	field string
	from  *v1.ResourceRef
	to    *string
}

func (s *session) gitValues(ctx context.Context, values []gitValue) error {
	for _, v := range values {
		if v.from == nil {
			continue
		}
		var err error
		if *v.to, err = s.refs.value(ctx, "spec.gitAuth."+v.field, *v.from); err != nil {
			return err
		}
	}
	return nil
}

// gitAuthSecret reads the older form of credentials: a Secret whose keys determine the
// kind of the credentials.
func (s *session) gitAuthSecret(ctx context.Context, name string) (source.GitAuth, error) {
	secret, err := s.refs.secret(ctx, "spec.gitAuthSecret", name)
	if err != nil {
		return source.GitAuth{}, err
	}
	get := func(key string) string { return string(secret.Data[key]) }
	for _, key := range []string{"sshPrivateKey", "accessToken", "password"} {
		s.refs.used = append(s.refs.used, get(key))
	}
	switch {
	case get("sshPrivateKey") != "":
		return source.GitAuth{SSHKey: get("sshPrivateKey"), SSHKeyPassword: get("password"), KnownHosts: get("known_hosts")}, nil
	case get("accessToken") != "":
		return source.GitAuth{Token: get("accessToken")}, nil
	case get("username") != "" && get("password") != "":
		return source.GitAuth{User: get("username"), Password: get("password")}, nil
	}
	return source.GitAuth{}, fmt.Errorf("spec.gitAuthSecret: Secret %s/%s has none of sshPrivateKey, accessToken, or username with password: add them", s.stack.Namespace, name)
}

// folder returns a folder of a source in the form that the engine takes.
func folder(dir string) string {
	if dir == "" || path.Clean(dir) == "." {
		return ""
	}
	return path.Clean(dir)
}

func unavailable(format string, args ...any) error {
	return &stall{reason: v1.StalledSourceUnavailableReason, message: fmt.Sprintf(format, args...)}
}
