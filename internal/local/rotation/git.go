package rotation

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/repositories"
)

// Git replaces the passwords of all accounts of the home's Git server and registry. The server accepts both passwords of an account
// until layer 2 has given Flux the new ones.
func (r Rotation) Git(ctx context.Context) (Result, error) {
	result := Result{Secret: "git", Rotated: []Rotated{}}
	release, err := r.begin()
	if err != nil {
		return result, err
	}
	defer release()
	running, err := r.Local.Start(ctx)
	if err != nil {
		return result, err
	}
	former, current, err := r.newGitSecret()
	if err != nil {
		return result, err
	}
	// The layers write the logins of people's clones, too.
	if err := r.up(ctx); err != nil {
		return result, err
	}
	if err := home.RemoveFile(r.Local.Home.SecretFile(supervisor.FormerGitSecret)); err != nil {
		return result, err
	}
	err = r.Show.Run("former passwords", func() (string, error) {
		list, err := r.Local.Tenants()
		if err != nil {
			return "", err
		}
		accounts := map[string]string{
			gitserver.Engineer: repositories.Platform, repositories.Fleet: repositories.Fleet,
			gitserver.Reader(repositories.Fleet): repositories.Fleet, gitserver.Reader(repositories.Platform): repositories.Platform,
		}
		names := []string{gitserver.Engineer, repositories.Fleet, gitserver.Reader(repositories.Fleet), gitserver.Reader(repositories.Platform)}
		for _, team := range list {
			if team.Offer == "" {
				names = append(names, team.Name, gitserver.Reader(team.Name))
				accounts[team.Name], accounts[gitserver.Reader(team.Name)] = team.Name, team.Name
			}
		}
		for _, account := range names {
			for secret, want := range map[string]int{former: http.StatusUnauthorized, current: http.StatusOK} {
				got, err := login(ctx, running.GitURL, accounts[account], account, gitserver.Password(secret, account))
				if err != nil {
					return "", err
				}
				if got != want {
					return "", fmt.Errorf("the Git server answers account %s with %d, want %d: run this again", account, got, want)
				}
			}
			result.Rotated = append(result.Rotated, Rotated{Name: account, Refused: 1, Proof: "the Git server answers the former password with 401"})
		}
		return fmt.Sprintf("the Git server refuses all %d", len(names)), nil
	})
	return result, err
}

// newGitSecret replaces the secret of the Git accounts, and keeps the former one beside it. It continues a rotation that was killed.
func (r Rotation) newGitSecret() (former, current string, err error) {
	h := r.Local.Home
	if current, err = h.Secret(supervisor.GitSecret); err != nil {
		return "", "", err
	}
	path := h.SecretFile(supervisor.FormerGitSecret)
	kept, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kept = []byte(current)
		err = home.WriteFile(path, kept)
	case err == nil && !bytes.Equal(kept, []byte(current)):
		return string(kept), current, nil
	}
	if err != nil {
		return "", "", err
	}
	current = rand.Text()
	return string(kept), current, home.WriteFile(h.SecretFile(supervisor.GitSecret), []byte(current))
}

// login returns the status with which the Git server answers a login that fetches a repository.
func login(ctx context.Context, url, repository, account, password string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/"+repository+".git/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(account, password)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the Git server: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
