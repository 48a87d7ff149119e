package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Core is the part of the emulated Google Cloud that all services share.
type Core struct {
	*Authenticator
	*Authorizer
	Router

	// baseURL is the URL at which clients reach the emulator. It does not end in a slash.
	baseURL string
	store   *store
	// now returns the time. Tests replace it.
	now func() time.Time

	// running is the context of background work for long-running operations. work counts that work.
	running context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// newCore opens the store in a folder, which newCore creates, readable only by its owner, if it does not exist. tables
// are the tables of the services.
func newCore(dir, baseURL string, tables ...table) (*Core, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the emulator's folder: %w", err)
	}
	st, err := openStore(filepath.Join(dir, "store.db"), append(tables, coreTables()...)...)
	if err != nil {
		return nil, err
	}
	c := &Core{baseURL: strings.TrimSuffix(baseURL, "/"), store: st, now: time.Now}
	now := func() time.Time { return c.now() }
	c.Authenticator, c.Authorizer = newAuthenticator(st, c.baseURL, now), newAuthorizer(st, now)
	c.running, c.stop = context.WithCancel(context.Background())
	return c, nil
}

func coreTables() []table {
	return []table{projects, policies, credentials, tokens, serviceAccounts, accountKeys, customRoles, serviceStates}
}

// start resumes the work of the services. The error names what does not serve.
func (c *Core) start(ctx context.Context) error {
	var faults []error
	for _, svc := range c.services() {
		if svc.start != nil {
			faults = append(faults, svc.start(ctx))
		}
	}
	return errors.Join(faults...)
}

// close interrupts background work, stops the services and closes the store.
func (c *Core) close() error {
	c.stop()
	c.work.Wait()
	var faults []error
	for _, svc := range c.services() {
		if svc.stop != nil {
			faults = append(faults, svc.stop())
		}
	}
	return errors.Join(append(faults, c.store.close())...)
}

// background runs the work of a long-running operation.
func (c *Core) background(work func(context.Context)) {
	c.work.Go(func() { work(c.running) })
}
