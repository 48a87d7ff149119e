package toolchain

import (
	"testing"
	"time"
)

func TestEventsHavePositionTotalAndDuration(t *testing.T) {
	e := Event{Tool: "etcd", Version: "v3.6.5", Progress: Building, Index: 2, Total: 13}
	for elapsed, want := range map[time.Duration]string{
		0:                      "building etcd v3.6.5 (2 of 13)",
		400 * time.Millisecond: "building etcd v3.6.5 (2 of 13)",
		90 * time.Second:       "building etcd v3.6.5 (2 of 13), 1m30s",
	} {
		e.Elapsed = elapsed
		if got := e.String(); got != want {
			t.Errorf("after %s the event says %q, want %q", elapsed, got, want)
		}
	}
}
