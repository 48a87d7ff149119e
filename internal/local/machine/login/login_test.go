package login

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

func TestALoginIsReplacedBeforeItExpires(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ticks, done := make(chan time.Time), make(chan struct{})
	written, fail := 0, false
	go func() {
		defer close(done)
		keep(ctx, ticks, func() time.Time { return clock }, func() error {
			if fail {
				return errors.New("the disk is full")
			}
			written++
			return nil
		}, slog.New(slog.DiscardHandler))
	}()
	// The channel has no buffer: a send returns when the previous tick is done, so a second one shows the effect of the first.
	for _, step := range []struct {
		name string
		pass time.Duration
		fail bool
		want int
	}{
		{"new", time.Minute, false, 0},
		{"old", renewAfter, false, 1},
		{"new again", time.Minute, false, 1},
		{"not written", renewAfter, true, 1},
		{"tried again", checkEvery, false, 2},
		{"the machine slept", 20 * time.Hour, false, 3},
		{"the clock was set back", -40 * time.Hour, false, 4},
	} {
		clock, fail = clock.Add(step.pass), step.fail
		ticks <- clock
		ticks <- clock
		if written != step.want {
			t.Errorf("%s: %d logins are written, want %d", step.name, written, step.want)
		}
	}
	cancel()
	<-done
}
