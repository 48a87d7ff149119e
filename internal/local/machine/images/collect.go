package images

import (
	"context"
	"log/slog"
	"time"
)

const (
	// collectEvery is the time between two garbage collections, and pressureEvery between two checks of the disk.
	collectEvery  = time.Hour
	pressureEvery = time.Minute
)

// Collect removes unused images until ctx is done: every hour, and earlier when the disk is nearly full.
func (i *Images) Collect(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(pressureEvery)
	defer tick.Stop()
	var last time.Time
	for {
		full, err := i.NearlyFull()
		if err != nil {
			log.Error("check the disk of the images", "error", err)
		}
		if full || time.Since(last) >= collectEvery {
			last = time.Now()
			removed, err := i.Clean(ctx, full)
			switch {
			case err != nil && ctx.Err() == nil:
				log.Error("remove unused images", "error", err)
			case removed.Files > 0:
				log.Info("removed unused images", "references", removed.References, "bytes", removed.Bytes)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
