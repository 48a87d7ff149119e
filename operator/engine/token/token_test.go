package token

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/operator/engine/message"
)

// keeperOf returns a Keeper with an empty folder, and the folder.
func keeperOf(t *testing.T, get func(context.Context) (string, time.Duration, error)) (*Keeper, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &Keeper{Root: root, File: File, Get: get, Mask: message.NewMask()}, dir
}

func TestTokenIsRenewedAndHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		k, dir := keeperOf(t, func(context.Context) (string, time.Duration, error) {
			asked++
			if asked == 2 {
				return "token-2", time.Hour, nil
			}
			return "token-" + strconv.Itoa(asked), time.Minute, nil
		})
		stop, err := k.Keep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Minute)
		synctest.Wait()
		stop()
		if got, err := os.ReadFile(filepath.Join(dir, File)); err != nil || string(got) != "token-2" {
			t.Errorf("the file holds %q (%v), want the second token", got, err)
		}
		if got := k.Mask.Apply("token-1 token-2"); got != "[secret] [secret]" {
			t.Errorf("masked %q, want both hidden", got)
		}
	})
}

func TestBothTokensAreWrittenAndHidden(t *testing.T) {
	k, dir := keeperOf(t, nil)
	get := func(value string, fails error) func(context.Context) (string, time.Duration, error) {
		return func(context.Context) (string, time.Duration, error) { return value, time.Hour, fails }
	}
	stop, err := KeepAll(t.Context(), *k, get("canary-cluster", nil), &keyless.Login{Token: get("canary-cloud", nil)})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	for name, want := range map[string]string{File: "canary-cluster", GoogleFile: "canary-cloud"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(content) != want {
			t.Errorf("%s is %q, %v", name, content, err)
		}
	}
	if got := k.Mask.Apply("canary-cluster canary-cloud"); got != "[secret] [secret]" {
		t.Errorf("the run prints %q", got)
	}
	if _, err := KeepAll(t.Context(), *k, get("canary-cluster", nil), &keyless.Login{Token: get("", errors.New("no such account"))}); err == nil {
		t.Error("a run without its token begins")
	}
}

func TestExpiredTokenIsNotRequestedInALoop(t *testing.T) {
	for name, renew := range map[string]time.Duration{"at once": 0, "in the past": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				k, _ := keeperOf(t, func(context.Context) (string, time.Duration, error) {
					asked++
					if asked%2 == 0 {
						return "", renew, errors.New("the API server does not answer")
					}
					return "token", renew, nil
				})
				stop, err := k.Keep(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(10*retryAfter + time.Second)
				synctest.Wait()
				stop()
				if asked != 11 {
					t.Errorf("it was asked %d times in %v, want 11", asked, 10*retryAfter)
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
	k, dir := keeperOf(t, func(context.Context) (string, time.Duration, error) { return "token", time.Hour, nil })
	for _, name := range []string{File, File + ".new"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	stop, err := k.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if got, _ := os.ReadFile(outside); string(got) != "kept" {
		t.Errorf("the file outside holds %q", got)
	}
}
