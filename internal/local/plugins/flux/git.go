package flux

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

// pushAttempts is how often edit tries to push when others push at the same time.
const pushAttempts = 3

// checkout is a clone of Flux's repository. The caller must close it.
type checkout struct {
	*gogit.Client
	git   Git
	empty bool
}

// clone clones the branch. For a repository without commits, it returns an empty checkout.
func clone(ctx context.Context, g Git) (*checkout, error) {
	dir, err := manifestgen.MkdirTempAbs("", "strata-flux-git-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to clone into: %w", err)
	}
	c := &checkout{git: g}
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
		return nil, fmt.Errorf("make a client for git repository %s: %w", g.URL, err)
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

func (c *checkout) close() { os.RemoveAll(c.Path()) }

// read returns the content of the existing files among paths.
func (c *checkout) read(paths []string) (map[string]string, error) {
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

// commit commits the changes and pushes them. It returns git.ErrNoStagedFiles if there are none.
func (c *checkout) commit(ctx context.Context, message string, files map[string]string) error {
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

// edit clones the repository, calls change with the checkout and pushes the result. If somebody else pushed meanwhile,
// it starts again. It returns a checkout at the head of the branch. The caller must close it.
func edit(ctx context.Context, g Git, message string, change func(*checkout) (map[string]string, error)) (*checkout, error) {
	for attempt := 1; ; attempt++ {
		c, err := clone(ctx, g)
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
			c.close()
			return nil, fmt.Errorf("push %q to branch %s of git repository %s: %w", message, g.Branch, g.URL, err)
		}
		c.close()
	}
}

// isConflict reports whether the server refused a push because the branch has moved.
func isConflict(err error) bool {
	return strings.Contains(err.Error(), "non-fast-forward") || strings.Contains(err.Error(), "reference has changed") ||
		strings.Contains(err.Error(), "failed to update ref") || strings.Contains(err.Error(), "incorrect old value")
}

// writeFiles commits files and removes the other files of obsolete. It calls before once the repository is writable;
// before may be nil.
func writeFiles(
	ctx context.Context, g Git, message string, files map[string]string, obsolete []string, before func(context.Context) error,
) (*checkout, error) {
	return edit(ctx, g, message, func(c *checkout) (map[string]string, error) {
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

// removeFiles removes the files. A missing or empty repository is no error.
func removeFiles(ctx context.Context, g Git, message string, paths []string) error {
	c, err := edit(ctx, g, message, func(c *checkout) (map[string]string, error) {
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
	c.close()
	return nil
}

func (c *checkout) remove(p string) error {
	err := os.Remove(filepath.Join(c.Path(), filepath.FromSlash(p)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s from git repository %s: %w", p, c.git.URL, err)
	}
	return nil
}
