package teardown

import "context"

// Begun reports whether an interrupted teardown has effects that Resume can revert: a suspended object, or an object of
// the platform that is being deleted. A Stack that is being deleted does not count, because teams delete Stacks
// themselves.
func (c *Cluster) Begun(ctx context.Context) (bool, error) {
	if is, err := c.Suspended(ctx); err != nil || is {
		return is, err
	}
	left, err := c.leftDeleted(ctx)
	return len(left) > 0, err
}
