// Package repository reads and changes the Git repository that Flux syncs from.
package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/git/gogit"
	"github.com/fluxcd/pkg/git/repository"
)

// Git is the connection to the repository: the plugin pushes the manifests to it, and Flux syncs from it.
type Git struct {
	// URL is the URL of the repository, http or https. It is required.
	URL string `json:"url"`
	// Branch is "main" by default.
	Branch string `json:"branch"`
	// AuthorName is "Flux" by default.
	AuthorName  string `json:"authorName"`
	AuthorEmail string `json:"authorEmail"`
	// CommitMessageAppendix is a paragraph at the end of every commit message. Empty means none.
	CommitMessageAppendix string `json:"commitMessageAppendix"`
	HTTP                  HTTP   `json:"http"`
}

// HTTP holds the credentials of a repository. AllowInsecureHTTP permits a password over plain http.
type HTTP struct {
	Username             string `json:"username"`
	Password             string `json:"password"`
	AllowInsecureHTTP    bool   `json:"allowInsecureHttp"`
	CertificateAuthority string `json:"certificateAuthority"`
}

// pushAttempts is the number of times that edit tries to push while others push to the branch.
const pushAttempts = 3

// Checkout is a clone of the branch in a temporary folder. Close deletes the folder.
type Checkout struct {
	*gogit.Client
	git   Git
	empty bool
}

// Clone clones the branch. For a repository without commits, it returns a checkout without files. The caller must close
// the checkout. If the repository does not exist, the error wraps git.ErrRepositoryNotFound.
func Clone(ctx context.Context, g Git) (*Checkout, error) {
	dir, err := manifestgen.MkdirTempAbs("", "strata-flux-git-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for a clone: %w", err)
	}
	c := &Checkout{git: g}
	defer func() {
		if c.Client == nil {
			os.RemoveAll(dir)
		}
	}()
	u, err := url.Parse(g.URL)
	if err != nil {
		return nil, fmt.Errorf("git.url: %w", err)
	}
	auth := &git.AuthOptions{
		Transport: git.TransportType(u.Scheme),
		Username:  g.HTTP.Username,
		Password:  g.HTTP.Password,
	}
	if g.HTTP.CertificateAuthority != "" {
		auth.CAFile = []byte(g.HTTP.CertificateAuthority)
	}
	opts := []gogit.ClientOption{gogit.WithDiskStorage()}
	if g.HTTP.AllowInsecureHTTP {
		opts = append(opts, gogit.WithInsecureCredentialsOverHTTP())
	}
	client, err := gogit.NewClient(dir, auth, opts...)
	if err != nil {
		return nil, fmt.Errorf("create a client for git repository %s: %w", g.URL, err)
	}
	head, err := client.Clone(ctx, g.URL, repository.CloneConfig{
		CheckoutStrategy: repository.CheckoutStrategy{Branch: g.Branch},
	})
	if err != nil {
		return nil, fmt.Errorf("clone branch %s of git repository %s: %w", g.Branch, g.URL, err)
	}
	c.Client, c.empty = client, head == nil
	return c, nil
}

// Close deletes the checkout.
func (c *Checkout) Close() { os.RemoveAll(c.Path()) }

// Read returns the contents of the files at paths, by path. It omits files that do not exist.
func (c *Checkout) Read(paths []string) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range paths {
		raw, err := os.ReadFile(filepath.Join(c.Path(), filepath.FromSlash(p)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of git repository %s: %w", p, c.git.URL, err)
		}
		files[p] = string(raw)
	}
	return files, nil
}

// commit commits the changes and files, the contents of files by path, and pushes the commit. It returns
// git.ErrNoStagedFiles if nothing has changed.
func (c *Checkout) commit(ctx context.Context, message string, files map[string]string) error {
	if c.git.CommitMessageAppendix != "" {
		message += "\n\n" + c.git.CommitMessageAppendix
	}
	readers := make(map[string]io.Reader, len(files))
	for p, content := range files {
		readers[p] = strings.NewReader(content)
	}
	_, err := c.Commit(git.Commit{
		Author:  git.Signature{Name: c.git.AuthorName, Email: c.git.AuthorEmail},
		Message: message,
	}, repository.WithFiles(readers))
	if err != nil {
		return err
	}
	return c.Push(ctx, repository.PushConfig{})
}

// edit clones the repository, calls change with the checkout, and pushes the files that change returns and removes. If
// somebody else pushes meanwhile, edit starts again. It returns a checkout at the head of the branch, which the caller
// must close.
func edit(ctx context.Context, g Git, message string, change func(*Checkout) (map[string]string, error)) (*Checkout, error) {
	for attempt := 1; ; attempt++ {
		c, err := Clone(ctx, g)
		if err != nil {
			return nil, err
		}
		files, err := change(c)
		if err == nil {
			err = c.commit(ctx, message, files)
		}
		switch {
		case err == nil, errors.Is(err, git.ErrNoStagedFiles):
			return c, nil
		case attempt == pushAttempts, !isConflict(err), ctx.Err() != nil:
			c.Close()
			return nil, fmt.Errorf("push %q to branch %s of git repository %s: %w", message, g.Branch, g.URL, err)
		}
		c.Close()
	}
}

// isConflict reports whether the server rejected a push because the branch has a new head. go-git and Git servers have
// no common error for this.
func isConflict(err error) bool {
	return strings.Contains(err.Error(), "non-fast-forward") || strings.Contains(err.Error(), "reference has changed") ||
		strings.Contains(err.Error(), "failed to update ref") || strings.Contains(err.Error(), "incorrect old value")
}

// Write commits files, their contents by path, and removes the other files of obsolete, in one commit. It calls before
// between the clone and the push, on each attempt to push; before may be nil. Write returns a checkout at the head of
// the branch, which the caller must close.
func Write(
	ctx context.Context, g Git, message string, files map[string]string, obsolete []string, before func(context.Context) error,
) (*Checkout, error) {
	return edit(ctx, g, message, func(c *Checkout) (map[string]string, error) {
		if before != nil {
			if err := before(ctx); err != nil {
				return nil, err
			}
		}
		for _, p := range obsolete {
			if _, keep := files[p]; keep {
				continue
			}
			if err := c.remove(p); err != nil {
				return nil, err
			}
		}
		return files, nil
	})
}

// Remove removes the files at paths in one commit. It succeeds if the repository does not exist or is empty.
func Remove(ctx context.Context, g Git, message string, paths []string) error {
	c, err := edit(ctx, g, message, func(c *Checkout) (map[string]string, error) {
		if c.empty {
			return nil, git.ErrNoStagedFiles
		}
		for _, p := range paths {
			if err := c.remove(p); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if _, ok := errors.AsType[git.ErrRepositoryNotFound](err); ok {
		return nil
	}
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

// remove deletes a file from the work tree. The next commit then contains the removal.
func (c *Checkout) remove(p string) error {
	err := os.Remove(filepath.Join(c.Path(), filepath.FromSlash(p)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s from git repository %s: %w", p, c.git.URL, err)
	}
	return nil
}
