package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Hook runs a lifecycle hook of the container until it ends or ctx is done. A nil hook succeeds.
func (p Prober) Hook(ctx context.Context, h *corev1.LifecycleHandler) error {
	switch {
	case h == nil:
		return nil
	case h.HTTPGet != nil:
		return p.get(ctx, h.HTTPGet)
	case h.Exec != nil && len(h.Exec.Command) > 0:
		if err := p.Target.Exec(ctx, h.Exec.Command); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	case h.Sleep != nil:
		wait(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
		return ctx.Err()
	}
	return fmt.Errorf("this node does not support this type of hook for the image %s", p.Image)
}
