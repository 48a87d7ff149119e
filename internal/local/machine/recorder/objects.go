package recorder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// longestEvent bounds an event of Kubernetes' audit log, in bytes. Longer ones are left out.
const longestEvent = 256 << 10

// objects reads the writes of objects from Kubernetes' audit log, as the API server appends to it and rotates it.
type objects struct {
	path, cursor string
	file         *os.File
	lines        *bufio.Reader
	part         []byte
	// last is the time of the last event that has an entry. resumed says that the events up to the cursor have been left out: later ones
	// count whatever the clock says.
	last    time.Time
	resumed bool
}

func openObjects(h home.Home) *objects {
	o := &objects{path: filepath.Join(h.Logs(), "audit.log"), cursor: filepath.Join(h.Ledger(), "kubernetes.cursor")}
	// Without a cursor, events have two entries with one ID.
	if text, err := os.ReadFile(o.cursor); err == nil {
		o.last, _ = time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	}
	return o
}

// event is an event of Kubernetes' audit log (audit.k8s.io/v1).
type event struct {
	AuditID    string `json:"auditID"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource, Namespace, Name, APIGroup, Subresource string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	StageTimestamp time.Time         `json:"stageTimestamp"`
	Annotations    map[string]string `json:"annotations"`
}

// recorded are the resources whose writes have entries: those that hold secrets, that grant rights, and that a run comes from.
var recorded = map[string]bool{
	"secrets": true, "serviceaccounts": true, "namespaces": true,
	"roles.rbac.authorization.k8s.io": true, "rolebindings.rbac.authorization.k8s.io": true,
	"clusterroles.rbac.authorization.k8s.io": true, "clusterrolebindings.rbac.authorization.k8s.io": true,
	"stacks.pulumi.com": true, "programs.pulumi.com": true, "approvals.strata.dev": true, "tenantpolicies.strata.dev": true,
}

// take calls see with each new write and its chain.
func (o *objects) take(see func(chain string, w record.Write)) error {
	newest := o.last
	err := o.each(func(raw []byte) {
		w, ok := writeOf(raw)
		if !ok || !o.resumed && !w.Time.After(o.last) {
			return
		}
		see(chainOfObject(w), w)
		newest = w.Time
	})
	o.resumed = o.resumed || o.file != nil
	if !newest.Equal(o.last) {
		o.last = newest
		err = errors.Join(err, home.WriteFile(o.cursor, []byte(newest.Format(time.RFC3339Nano)+"\n")))
	}
	return err
}

// each calls see with each new line of the log.
func (o *objects) each(see func(raw []byte)) error {
	for {
		if o.file == nil {
			file, err := os.Open(o.path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			o.file, o.lines, o.part = file, bufio.NewReaderSize(file, 64<<10), nil
		}
		for {
			piece, err := o.lines.ReadSlice('\n')
			if len(o.part) <= longestEvent {
				o.part = append(o.part, piece...)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
			if err == nil {
				if len(o.part) <= longestEvent {
					see(bytes.TrimSuffix(o.part, []byte("\n")))
				}
				o.part = o.part[:0]
			}
		}
		now, err := os.Stat(o.path)
		current, openErr := o.file.Stat()
		if openErr != nil || err != nil || os.SameFile(now, current) {
			return openErr
		}
		o.close() // The API server has rotated the log, and this file ends here.
	}
}

func (o *objects) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
	o.file = nil
}

// writeOf returns the write of an event. ok is false for an event without an entry.
func writeOf(raw []byte) (w record.Write, ok bool) {
	var e event
	if json.Unmarshal(raw, &e) != nil || e.ResponseStatus.Code >= 300 || e.ResponseStatus.Code == 0 {
		return w, false
	}
	of := e.ObjectRef
	resource := of.Resource
	if of.APIGroup != "" {
		resource += "." + of.APIGroup
	}
	if !recorded[resource] || of.Subresource != "" || strings.Contains(e.RequestURI, "dryRun=") {
		return w, false
	}
	const longest = 256
	cut := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), longest)], "") }
	w = record.Write{
		Time: e.StageTimestamp.UTC(), AuditID: cut(e.AuditID), Digest: Digest(raw), User: cut(e.User.Username), Verb: cut(e.Verb),
		Resource: resource, Namespace: cut(of.Namespace), Name: cut(of.Name),
		Grant: cut(e.Annotations["authorization.k8s.io/reason"]), UserAgent: cut(e.UserAgent),
	}
	if as := e.ImpersonatedUser; as != nil {
		w.User, w.By = cut(as.Username), w.User
	} else if ids := e.User.Extra["authentication.kubernetes.io/credential-id"]; len(ids) == 1 {
		w.Token = cut(ids[0])
	}
	if w.User == "system:serviceaccount:pulumi-kubernetes-operator:pulumi-operator" && resource == "stacks.pulumi.com" {
		return w, false // The operator's finalizers. Runs have entries of their own.
	}
	return w, true
}

// chainOfObject returns the chain of a write: that of the namespace. What the administrator does belongs to layer 2.
func chainOfObject(w record.Write) string {
	switch {
	case w.User == controlplane.Admin:
		return record.Platform
	case team(w.Namespace):
		return w.Namespace
	}
	return record.Sync
}
