// Package trace records the runs of Stacks for the ledger of a platform.
package trace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/runrecord"
)

// Trace is the record of a run.
type Trace struct {
	folder string

	mu  sync.Mutex
	run runrecord.Run
}

// Begin records in a folder that a run of a Stack begins. It makes the run's calls to Google carry the ID of the run, and notes the IDs of its
// tokens. A run does not depend on its record. Without a folder there is none.
func Begin(ctx context.Context, folder string, stack *v1.Stack, cause string, current v1.CurrentStackUpdate, req *engine.Request) *Trace {
	t := &Trace{folder: folder, run: runrecord.Run{
		ID: current.Name, Namespace: stack.Namespace, Stack: stack.Name, Operation: string(req.Operation), Cause: cause,
		Revision: current.Commit, Account: stack.ServiceAccount(), Reason: "strata run " + stack.Namespace + "/" + current.Name,
		Began: time.Now().UTC(),
	}}
	if ref := stack.Spec.ProgramRef; ref != nil {
		t.run.Program = ref.Name
	}
	if t.folder == "" {
		return t
	}
	env := map[string]string{}
	maps.Copy(env, req.Env)
	env[runrecord.ReasonVariable] = t.run.Reason
	req.Env = env
	if get := req.Token; get != nil {
		req.Token = func(ctx context.Context) (string, time.Duration, error) {
			token, renew, err := get(ctx)
			t.note(func(r *runrecord.Run) { r.Tokens = append(r.Tokens, tokenID(token)) })
			return token, renew, err
		}
	}
	req.Changed = func(found []events.Change, more int) {
		t.note(func(r *runrecord.Run) {
			r.More = more
			for _, each := range found {
				r.Changes = append(r.Changes, runrecord.Change{Op: each.Op, Type: each.Type, Name: each.Name, ID: each.ID})
			}
		})
	}
	t.write(ctx)
	return t
}

// End records the end of the run: given is the Approval that covers it, or nil. A run that the operator stopped because it stops itself has
// no end.
func (t *Trace) End(ctx context.Context, given *approval.Approval, err error) {
	t.note(func(r *runrecord.Run) {
		r.Ended, r.Result = time.Now().UTC(), runrecord.Succeeded
		if err != nil {
			r.Result, r.Message = runrecord.Failed, report.Cut(err.Error(), report.LongestNote)
		}
		if refused := (*stall.Refusal)(nil); errors.As(err, &refused) {
			r.Result, r.Message = runrecord.Refused, report.Cut(refused.Err.Error(), report.LongestNote)
		}
		if given != nil && r.Result != runrecord.Refused {
			r.Approval = &runrecord.Approval{By: given.Spec.By}
			if of := given.Spec.Plan; of != nil {
				r.Approval.Plan, r.Approval.Digest = of.Name, of.Digest
			}
		}
	})
	t.write(ctx)
}

func (t *Trace) note(change func(*runrecord.Run)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.run)
}

func (t *Trace) write(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := runrecord.Write(t.folder, t.run); err != nil {
		log.FromContext(ctx).Error(err, "the ledger misses a run")
	}
}

// tokenID returns the ID of a token of a service account, as Kubernetes' audit log names it; empty if the token has none.
func tokenID(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		ID string `json:"jti"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.ID == "" {
		return ""
	}
	return "JTI=" + claims.ID
}
