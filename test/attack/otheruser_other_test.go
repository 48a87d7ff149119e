//go:build !linux

package attack

import (
	"context"
	"errors"
	"net"
)

func dialAsNobody(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("only on Linux one thread of a process is another user")
}
