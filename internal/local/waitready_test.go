package local

import (
	"context"
	"errors"
	"testing"

	"github.com/strata-platform/strata/internal/status"
)

func TestStatusThatIsWaitedForEndsWithTheInterruptOfItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openTestPlatform(t).WaitReady(ctx, func(status.Item) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted wait ends with %v", err)
	}
}
