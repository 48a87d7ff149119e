// Package runrecord hands the records of runs from the programs that run Pulumi to the ledger of a platform, through a folder that no
// run can see. Each record is a file: the folder loses none when a program is killed.
package runrecord

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Results of a run. A run without a result has begun.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	// Refused is the result of a run that ended before it changed anything, because it waits for an approval or must not run.
	Refused = "refused"
)

// ReasonVariable makes Google's clients and the official provider send a request reason, which Google writes into its audit log. Each run
// has another one, so it is no part of what a run does.
const ReasonVariable = "CLOUDSDK_CORE_REQUEST_REASON"

// Run is the record of a run: one when it begins, one with the same ID when it ends. Its texts come from the team or from the run, except
// ID, Namespace, Stack, Operation, Account, Tokens and the times.
type Run struct {
	// ID identifies the run among those of its Stack or layer.
	ID string `json:"id"`
	// Layer is the name of a layer. It is empty for the run of a Stack, which has Namespace and Stack.
	Layer     string `json:"layer,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Stack     string `json:"stack,omitempty"`

	// Operation is up, preview, refresh or destroy, and Cause says why the run was due.
	Operation string `json:"operation"`
	Cause     string `json:"cause,omitempty"`

	// Program is the name of the Program, and Revision its revision: that of an object, or a commit for a project in Git.
	Program  string `json:"program,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Commit is the commit that the platform applied when the run began, and Author its author. Modified says that files of a layer
	// differed from the commit.
	Commit   string `json:"commit,omitempty"`
	Author   string `json:"author,omitempty"`
	Modified bool   `json:"modified,omitempty"`

	// Account is the Kubernetes account of the run, Tokens are the IDs of its tokens, and Reason is the request reason that its calls to
	// Google carry.
	Account string   `json:"account,omitempty"`
	Tokens  []string `json:"tokens,omitempty"`
	Reason  string   `json:"reason,omitempty"`

	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`

	// Result is empty until the run ends. Message says why the run did not succeed.
	Result  string `json:"result,omitempty"`
	Message string `json:"message,omitempty"`

	// Approval is who approved the run, and which plan; nil if nobody had to.
	Approval *Approval `json:"approval,omitempty"`

	// Changes are the changed resources in Pulumi's order, at most [MostChanges]. More counts the others.
	Changes []Change `json:"changes,omitempty"`
	More    int      `json:"more,omitempty"`
	// Counts counts the resources of a layer by operation, in place of Changes.
	Counts map[string]int `json:"counts,omitempty"`
}

// Approval is the consent of a person to a run.
type Approval struct {
	By   string `json:"by"`
	Plan string `json:"plan,omitempty"`
	// Digest is the digest of the plan.
	Digest string `json:"digest,omitempty"`
}

// Change is the change of a resource, as the run reports it.
type Change struct {
	Op   string `json:"op"`
	Type string `json:"type"`
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
}

// Bounds of a record and of the folder.
const (
	// MostChanges bounds the changes of a record, and LongestText each of its texts, in bytes.
	MostChanges = 60
	LongestText = 200
	mostTokens  = 10
	// mostOperation bounds the names of operations in Counts, in bytes.
	mostOperation = 40

	longestRecord = 40 << 10
	mostRecords   = 10_000
)

// bound shortens the texts and lists of a record.
func (r *Run) bound() {
	for _, text := range []*string{
		&r.ID, &r.Layer, &r.Namespace, &r.Stack, &r.Operation, &r.Cause, &r.Program, &r.Revision, &r.Commit, &r.Author, &r.Account, &r.Reason, &r.Message,
	} {
		*text = cut(*text)
	}
	if r.Approval != nil {
		r.Approval = &Approval{By: cut(r.Approval.By), Plan: cut(r.Approval.Plan), Digest: cut(r.Approval.Digest)}
	}
	r.Tokens = slices.Clone(r.Tokens[:min(len(r.Tokens), mostTokens)])
	for i := range r.Tokens {
		r.Tokens[i] = cut(r.Tokens[i])
	}
	maps.DeleteFunc(r.Counts, func(op string, _ int) bool { return len(op) > mostOperation })
	r.More += max(0, len(r.Changes)-MostChanges)
	r.Changes = slices.Clone(r.Changes[:min(len(r.Changes), MostChanges)])
	for i, c := range r.Changes {
		r.Changes[i] = Change{Op: cut(c.Op), Type: cut(c.Type), Name: cut(c.Name), ID: cut(c.ID)}
	}
}

func cut(text string) string {
	if len(text) > LongestText {
		text = text[:LongestText-len("…")] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// Write adds a record to a folder, which exists. Without a folder it does nothing.
func Write(folder string, r Run) error {
	if folder == "" {
		return nil
	}
	r.bound()
	content, err := json.Marshal(r)
	if err == nil && len(content) > longestRecord {
		r.More, r.Changes = r.More+len(r.Changes), nil
		content, err = json.Marshal(r)
	}
	if err != nil {
		return fmt.Errorf("write the record of a run: %w", err)
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	name := fmt.Sprintf("%020d-%s.json", time.Now().UnixNano(), hex.EncodeToString(random))
	temporary := filepath.Join(folder, "."+name)
	if err := errors.Join(os.WriteFile(temporary, content, 0o600), os.Rename(temporary, filepath.Join(folder, name))); err != nil {
		return fmt.Errorf("write the record of a run: %w", err)
	}
	return nil
}

// Take calls use with each record of a folder, the oldest first, and removes the record if use returns nil. A record that use refuses stays
// for the next call, and holds up no other one. Take removes what is no record.
// The records beyond the first 10,000 are removed: no platform has as many runs while nobody takes the records.
func Take(folder string, use func(Run) error) error {
	left, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("take the records of runs: %w", err)
	}
	taken, refused := 0, error(nil)
	for _, each := range left {
		name := each.Name()
		if strings.HasPrefix(name, ".") {
			continue // It is being written.
		}
		path := filepath.Join(folder, name)
		if taken++; taken <= mostRecords {
			if r, ok := read(path); ok {
				if err := use(r); err != nil {
					refused = errors.Join(refused, err)
					continue
				}
			}
		}
		if err := os.Remove(path); err != nil {
			return errors.Join(refused, fmt.Errorf("take the records of runs: %w", err))
		}
	}
	return refused
}

func read(path string) (r Run, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longestRecord {
		return r, false
	}
	content, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(content, &r) != nil {
		return r, false
	}
	r.bound()
	return r, true
}
