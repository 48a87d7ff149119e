package origin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/githubapp"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/source"
)

// gitProgram determines the commit to run.
func (s *search) gitProgram(ctx context.Context) (*Program, error) {
	git := &s.stack.Spec.GitSource
	auth, app, err := s.gitAuth(ctx, git)
	if err != nil {
		return nil, err
	}
	repository := source.Git{URL: git.ProjectRepo, Branch: git.Branch, Commit: git.Commit, Shallow: git.Shallow, Auth: auth}
	ask := func(ctx context.Context) (source.Git, error) { return s.resolveGit(ctx, repository, app) }
	var found *lookup.Finding
	if git.Commit != "" && app == nil || s.lookups == nil {
		// A fixed commit needs no server.
		found = &lookup.Finding{}
		found.Git, found.Err = ask(ctx)
	} else if found = s.lookups.Find(client.ObjectKeyFromObject(s.stack), s.question(repository, app), s.current, ask); found == nil {
		return nil, fmt.Errorf("spec.projectRepo: %w", lookup.ErrActive)
	}
	if found.Err != nil {
		return nil, found.Err
	}
	if app != nil {
		s.refs.Use(found.Git.Auth.Token)
	}
	return &Program{Revision: found.Git.Commit, Source: found.Git, Path: folder(git.RepoDir), LookedUp: found.At}, nil
}

// resolveGit determines the commit, and gets the token of a GitHub App.
func (f *Finder) resolveGit(ctx context.Context, repository source.Git, app *githubapp.App) (source.Git, error) {
	if app != nil {
		token, err := f.tokens.Token(ctx, app)
		if err != nil {
			return repository, stall.Unavailable("spec.gitAuth.githubApp: %v", err)
		}
		repository.Auth.Token = token
	}
	// The folder holds Git credentials. If the operator is killed, Folders.Clean removes the
	// folder at the next start.
	dir, err := f.folders.Make()
	if err != nil {
		return repository, fmt.Errorf("spec.projectRepo: make a folder for git: %w", err)
	}
	defer f.folders.Remove(dir)
	head, err := repository.Head(ctx, dir)
	if errors.Is(err, source.ErrInvalid) {
		return repository, stall.Invalid("spec.projectRepo: %v", err)
	} else if err != nil {
		return repository, stall.Unavailable("spec.projectRepo: %v", err)
	}
	repository.Commit, repository.Branch = head, ""
	return repository, nil
}

// question identifies a lookup. A new generation, a new reconcile request and other
// credentials each need a new lookup.
func (s *search) question(repository source.Git, app *githubapp.App) string {
	if app == nil {
		app = &githubapp.App{}
	}
	text := fmt.Sprintf("%d %q %#v %#v", s.stack.Generation, s.stack.Annotations[v1.ReconcileRequestAnnotation], repository, *app)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// current reports whether a finding is still valid. While a run waits for a slot, the
// commit that it found stays valid: a new lookup would only delay the run.
func (s *search) current(found *lookup.Finding) bool {
	age := time.Since(found.At)
	switch {
	case found.Err != nil:
		return age < schedule.SourceRetry
	case s.waits:
		return true
	case s.stack.Spec.GitAuth != nil && s.stack.Spec.GitAuth.GitHubApp != nil && age >= githubapp.TokenSpare:
		return false
	}
	return s.stack.Spec.Branch == "" || age < schedule.Resync(s.stack)
}

// gitAuth reads the credentials of the repository.
func (s *search) gitAuth(ctx context.Context, git *v1.GitSource) (auth source.GitAuth, app *githubapp.App, err error) {
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
		return auth, nil, stall.Invalid("spec.gitAuth: set one of accessToken, sshAuth, basicAuth and githubApp")
	}
	if err = s.gitValues(ctx, values); err == nil && git.GitAuth.SSHAuth != nil {
		auth.KnownHosts, err = s.knownHosts(ctx, git.GitAuth.SSHAuth.SSHPrivateKey)
	}
	return auth, app, err
}

// knownHosts reads the known_hosts beside an SSH key. As in the Secrets of Flux, its
// key is known_hosts. knownHosts returns an empty string if there is none.
func (s *search) knownHosts(ctx context.Context, key v1.ResourceRef) (string, error) {
	if key.Secret == nil {
		return "", nil
	}
	secret, err := s.refs.Secret(ctx, "spec.gitAuth.sshAuth.sshPrivateKey", key.Secret.Name)
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

func (s *search) gitValues(ctx context.Context, values []gitValue) error {
	for _, v := range values {
		if v.from == nil {
			continue
		}
		var err error
		if *v.to, err = s.refs.Value(ctx, "spec.gitAuth."+v.field, *v.from); err != nil {
			return err
		}
	}
	return nil
}

// gitAuthSecret reads the older form of credentials: a Secret whose keys determine the
// kind of the credentials.
func (s *search) gitAuthSecret(ctx context.Context, name string) (source.GitAuth, error) {
	secret, err := s.refs.Secret(ctx, "spec.gitAuthSecret", name)
	if err != nil {
		return source.GitAuth{}, err
	}
	get := func(key string) string { return string(secret.Data[key]) }
	for _, key := range []string{"sshPrivateKey", "accessToken", "password"} {
		s.refs.Use(get(key))
	}
	switch {
	case get("sshPrivateKey") != "":
		return source.GitAuth{SSHKey: get("sshPrivateKey"), SSHKeyPassword: get("password"), KnownHosts: get("known_hosts")}, nil
	case get("accessToken") != "":
		return source.GitAuth{Token: get("accessToken")}, nil
	case get("username") != "" && get("password") != "":
		return source.GitAuth{User: get("username"), Password: get("password")}, nil
	}
	return source.GitAuth{}, fmt.Errorf("spec.gitAuthSecret: Secret %s/%s needs the key sshPrivateKey, the key accessToken, or the keys username and password: add them", s.stack.Namespace, name)
}
