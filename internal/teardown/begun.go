package teardown

import "context"

// Begun tells whether a teardown has begun that Resume can undo: something is suspended by it, or what is the platform's is
// being deleted. That a Stack is being deleted is a team's own doing.
func (c *Cluster) Begun(ctx context.Context) (bool, error) {
	if is, err := c.Suspended(ctx); err != nil || is {
		return is, err
	}
	left, err := c.leftDeleted(ctx)
	return len(left) > 0, err
}
