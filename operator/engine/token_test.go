package engine

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestTokenIsRenewedAndHidden(t *testing.T) {
	asked := 0
	second := make(chan struct{})
	r := &run{dir: t.TempDir(), mask: newMask(Request{}), Request: Request{
		Token: func(context.Context) (string, time.Duration, error) {
			asked++
			if asked == 2 {
				defer close(second)
				return "token-2", time.Hour, nil
			}
			return "token-" + strconv.Itoa(asked), 0, nil
		},
	}}
	stop, err := r.keepToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-second
	stop()
	if got, err := os.ReadFile(filepath.Join(r.dir, tokenFile)); err != nil || string(got) != "token-2" {
		t.Errorf("the file holds %q (%v), want the second token", got, err)
	}
	if got := r.mask.apply("token-1 token-2"); got != "[secret] [secret]" {
		t.Errorf("masked %q, want both hidden", got)
	}
}

func TestTokenIsNotWrittenThroughALinkOfTheRun(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &run{dir: t.TempDir(), mask: newMask(Request{}), Request: Request{
		Token: func(context.Context) (string, time.Duration, error) { return "token", time.Hour, nil },
	}}
	if err := os.Symlink(outside, filepath.Join(r.dir, tokenFile+".new")); err != nil {
		t.Fatal(err)
	}
	if stop, err := r.keepToken(t.Context()); err == nil {
		stop()
		t.Error("the token was written through the link")
	}
	if got, _ := os.ReadFile(outside); string(got) != "kept" {
		t.Errorf("the file outside holds %q", got)
	}
}
