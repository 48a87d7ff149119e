package dolt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// server is the running server of one instance.
type server struct {
	keeper  *process.Keeper
	address string
	root    *sql.DB

	// unpublish stops forwarding clients of this machine to the server.
	unpublish func()
}

// Address implements engine.Server.
func (s *server) Address() string { return s.address }

// Root implements engine.Server.
func (s *server) Root() *sql.DB { return s.root }

// wait returns when the server answers its root user. It fails after startTimeout, or if the server is in a crash loop.
func (s *server) wait(ctx context.Context, log string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		err := s.root.PingContext(ctx)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*mysql.MySQLError](err); ok {
			return fmt.Errorf("the server at %s rejects its root user: %w", s.address, err)
		}
		state := s.keeper.State()
		if state.Phase == process.CrashLooping {
			return fmt.Errorf("the server at %s does not start: %s; its log is %s", s.address, state.LastExit.Message, log)
		}
		select {
		case <-ctx.Done():
			if last := state.LastExit; last != nil {
				return fmt.Errorf("no answer from %s: %s; its log is %s", s.address, last.Message, log)
			}
			return fmt.Errorf("no answer from %s within %s; its log is %s", s.address, startTimeout, log)
		case <-ticker.C:
		}
	}
}

// stop ends the server and its connections.
func (s *server) stop() error {
	s.unpublish()
	err := s.root.Close()
	s.keeper.Stop()
	return err
}
