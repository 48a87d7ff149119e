package teardown

import "context"

// Begun reports whether an interrupted teardown has effects that Resume can revert: a suspended object, or a
// namespace or an object of the platform's own namespaces that is being deleted. Objects in the teams' namespaces do not
// count, because teams delete such objects themselves.
func (c *Cluster) Begun(ctx context.Context) (bool, error) {
	if is, err := c.Suspended(ctx); err != nil || is {
		return is, err
	}
	left, err := c.leftDeleted(ctx, []string{c.namespaces.Platform, c.namespaces.Operator})
	return len(left) > 0, err
}
