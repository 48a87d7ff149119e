// Package recorder writes the ledger of a home: pushes, runs, calls to the emulated Google Cloud, and writes of objects.
package recorder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/internal/local/cloud/core/auditlog"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/operator/runrecord"
)

// every is the interval at which the recorder takes records of runs and reads Kubernetes' audit log.
const every = 250 * time.Millisecond

// Recorder writes the ledger of a home.
type Recorder struct {
	home     home.Home
	engineer string
	admin    func() *rest.Config
	log      *slog.Logger
	ledger   *ledger.Ledger
	budget   *budget
	objects  *objects
	// commits are the commits of the runs that have begun.
	commits map[string]string
	done    chan struct{}
}

// AuditLog is the name of the audit log in the folder of the emulated Google Cloud. Its rotated part has the suffix ".1".
const AuditLog = auditlog.File

// Key returns the key that signs the ledger of a home.
func Key(h home.Home) (*signing.Key, error) {
	return signing.EnsureKey("the key of the ledger", h.SecretFile("ledger.key"))
}

// Open opens the ledger of a home. engineer is the Google identity of layer 1, and admin returns the administrator's client configuration,
// or nil while no cluster runs.
func Open(h home.Home, engineer string, admin func() *rest.Config, log *slog.Logger) (*Recorder, error) {
	key, err := Key(h)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(h.RunRecords(), 0o700); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	book, err := ledger.Open(ledger.Options{Dir: h.Ledger(), Key: key, Log: log})
	if err != nil {
		return nil, err
	}
	r := &Recorder{home: h, engineer: engineer, admin: admin, log: log, ledger: book, commits: map[string]string{}, done: make(chan struct{})}
	r.budget = &budget{append: r.append, open: map[string]*window{}}
	r.objects = openObjects(h)
	return r, nil
}

// Run takes records until ctx is done.
func (r *Recorder) Run(ctx context.Context) {
	defer close(r.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		r.take(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Close takes the last records, after Run has ended, and closes the ledger.
func (r *Recorder) Close() error {
	<-r.done
	r.take(context.Background())
	r.budget.close(time.Now())
	r.objects.close()
	return r.ledger.Close()
}

// take takes the records of runs and the events of Kubernetes' audit log.
func (r *Recorder) take(ctx context.Context) {
	err := runrecord.Take(r.home.RunRecords(), func(run runrecord.Run) error { return r.ran(ctx, run) })
	err = errors.Join(err, r.objects.take(func(chain string, w record.Write) { r.limited(chain, record.ObjectWrite, w) }))
	if err != nil && ctx.Err() == nil {
		r.log.Error("the ledger misses records", "error", err)
	}
}

// append appends an entry. What is recorded does not depend on the record.
func (r *Recorder) append(chain, kind string, content any) {
	if err := r.ledger.Append(chain, kind, content); err != nil {
		r.log.Error("the ledger misses an entry", "kind", kind, "error", err)
	}
}

// limited appends an entry of a kind whose number a team decides.
func (r *Recorder) limited(chain, kind string, content any) {
	if r.budget.take(chain, time.Now()) {
		r.append(chain, kind, content)
	}
}

// Pushed records an accepted push.
func (r *Recorder) Pushed(p receipt.Push) {
	chain := "team-" + p.Repository
	switch p.Repository {
	case "fleet":
		chain = record.Platform
	case "platform", "strata": // The second one contains Strata's part of an organisation's layer 3.
		chain = record.Sync
	}
	r.append(chain, record.Push, p)
}

// Called records a call to the emulated Google Cloud. line is its line in the audit log.
func (r *Recorder) Called(e *auditlog.Entry, line []byte) {
	p := e.Payload
	call := record.Call{
		Time: e.Timestamp, InsertID: e.InsertID, Digest: Digest(line),
		Principal: e.Principal(), Service: p.ServiceName, Method: p.MethodName, Resource: p.ResourceName, Code: p.Status.Code, Message: p.Status.Message,
		Role: e.Labels[auditlog.RoleLabel], Policy: e.Labels[auditlog.PolicyLabel], Reason: p.Metadata.Attributes.Reason, UserAgent: p.Metadata.UserAgent,
	}
	if len(p.Authorization) > 0 {
		call.Permission = p.Authorization[0].Permission
	}
	r.limited(r.chainOf(call.Principal), record.CloudCall, call)
}

// Digest returns the digest of a line of an audit log.
func Digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// chainOf returns the chain of a principal in Google Cloud. No team creates principals.
func (r *Recorder) chainOf(principal string) string {
	if principal == r.engineer {
		return record.Bootstrap
	}
	account, domain, _ := strings.Cut(principal, "@")
	if team(account) && domain == r.home.Project()+".iam.gserviceaccount.com" {
		return account
	}
	_, subject, pods := strings.Cut(principal, "/subject/ns/")
	if namespace, _, _ := strings.Cut(subject, "/"); pods && team(namespace) {
		return namespace
	}
	return record.Other
}

// team reports whether a name is that of a team's namespace, which is also that of its Google account.
func team(name string) bool { return strings.HasPrefix(name, "team-") }
