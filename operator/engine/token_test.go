package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// tokenRun returns a run that has only a folder.
func tokenRun(t *testing.T, token func(context.Context) (string, time.Duration, error)) *run {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &run{dir: dir, root: root, mask: newMask(Request{}), Request: Request{Token: token}}
}

func TestTokenIsRenewedAndHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := tokenRun(t, func(context.Context) (string, time.Duration, error) {
			asked++
			if asked == 2 {
				return "token-2", time.Hour, nil
			}
			return "token-" + strconv.Itoa(asked), time.Minute, nil
		})
		stop, err := r.keepToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Minute)
		synctest.Wait()
		stop()
		if got, err := os.ReadFile(filepath.Join(r.dir, tokenFile)); err != nil || string(got) != "token-2" {
			t.Errorf("the file holds %q (%v), want the second token", got, err)
		}
		if got := r.mask.Apply("token-1 token-2"); got != "[secret] [secret]" {
			t.Errorf("masked %q, want both hidden", got)
		}
	})
}

func TestExpiredTokenIsNotRequestedInALoop(t *testing.T) {
	for name, renew := range map[string]time.Duration{"at once": 0, "in the past": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				r := tokenRun(t, func(context.Context) (string, time.Duration, error) {
					asked++
					if asked%2 == 0 {
						return "", renew, errors.New("the API server does not answer")
					}
					return "token", renew, nil
				})
				stop, err := r.keepToken(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(10*tokenRetry + time.Second)
				synctest.Wait()
				stop()
				if asked != 11 {
					t.Errorf("it was asked %d times in %v, want 11", asked, 10*tokenRetry)
				}
			})
		})
	}
}

func TestTokenIsNotWrittenThroughALinkOfTheRun(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := tokenRun(t, func(context.Context) (string, time.Duration, error) { return "token", time.Hour, nil })
	for _, name := range []string{tokenFile, tokenFile + ".new"} {
		if err := os.Symlink(outside, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	stop, err := r.keepToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if got, _ := os.ReadFile(outside); string(got) != "kept" {
		t.Errorf("the file outside holds %q", got)
	}
}
