//go:build !linux

package attack

import (
	"context"
	"errors"
	"net"
)

func dialAsNobody(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("only on Linux can one thread of a process act as another user")
}
