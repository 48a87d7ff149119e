// Package core serves the calls of the emulated Google Cloud: it authenticates and authorises each call, and hands it
// to the service that registered its route. Services import core; core imports no service.
package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/auditlog"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Core is the part of the emulated Google Cloud that all services share. Services register with its Router.
type Core struct {
	*authn.Authenticator
	*authz.Authorizer
	api.Router

	// BaseURL is the URL at which clients reach the emulator. It does not end in a slash.
	BaseURL string
	Store   *store.Store
	// Now returns the time. Tests replace it.
	Now func() time.Time

	// auditLog is nil in an emulator without a log.
	auditLog *auditlog.Log

	// running is the context of background work for long-running operations. work counts that work.
	running context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// StoreFile is the name of the store's file in the folder of the emulator.
const StoreFile = "store.db"

// New opens the store in a folder, which New creates, readable only by its owner, if it does not exist. tables are the
// tables of the services.
func New(dir, baseURL string, tables ...store.Table) (*Core, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the emulator's folder: %w", err)
	}
	st, err := store.Open(filepath.Join(dir, StoreFile), slices.Concat(coreTables(), tables)...)
	if err != nil {
		return nil, err
	}
	c := &Core{BaseURL: strings.TrimSuffix(baseURL, "/"), Store: st, Now: time.Now}
	now := func() time.Time { return c.Now() }
	c.Authenticator, c.Authorizer = authn.New(st, c.BaseURL, now), authz.New(st, now)
	c.running, c.stop = context.WithCancel(context.Background())
	return c, nil
}

func coreTables() []store.Table {
	return slices.Concat(authn.Tables(), authz.Tables(), []store.Table{api.Projects, ServiceStates})
}

// Audit opens the audit log in a folder. seen is called with each entry and its line, and may be nil. Audit must precede the first call.
func (c *Core) Audit(dir string, seen func(*auditlog.Entry, []byte)) (err error) {
	c.auditLog, err = auditlog.Open(dir, seen)
	return err
}

// Start resumes the work of the services. Its error names the objects whose work fails to resume.
func (c *Core) Start(ctx context.Context) error {
	var faults []error
	for _, svc := range c.Services() {
		if svc.Start != nil {
			faults = append(faults, svc.Start(ctx))
		}
	}
	return errors.Join(faults...)
}

// Close interrupts background work, stops the services and closes the store.
func (c *Core) Close() error {
	c.stop()
	c.work.Wait()
	var faults []error
	for _, svc := range c.Services() {
		if svc.Stop != nil {
			faults = append(faults, svc.Stop())
		}
	}
	if c.auditLog != nil {
		faults = append(faults, c.auditLog.Close())
	}
	return errors.Join(append(faults, c.Store.Close())...)
}

// Background runs the work of a long-running operation.
func (c *Core) Background(work func(context.Context)) {
	c.work.Go(func() { work(c.running) })
}
