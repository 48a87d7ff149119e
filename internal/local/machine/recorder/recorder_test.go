package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/internal/local/cloud/core/auditlog"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/operator/runrecord"
)

// open opens the recorder of a home without a cluster.
func open(t *testing.T, h home.Home) (r *Recorder, end func()) {
	t.Helper()
	r, err := Open(h, "engineer@strata.local", func() *rest.Config { return nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go r.Run(ctx)
	return r, func() {
		t.Helper()
		cancel()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func newHome(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// entries returns the kinds of the entries of each chain, after a verification.
func entries(t *testing.T, h home.Home) map[string][]string {
	t.Helper()
	key, err := Key(h)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ledger.Verify(t.Context(), h.Ledger(), key)
	if err != nil || len(v.Problems) > 0 {
		t.Fatalf("the problems are %v (%v)", v.Problems, err)
	}
	all := map[string][]string{}
	for chain := range v.Heads.Chains {
		if err := ledger.Each(h.Ledger(), chain, func(e ledger.Entry) error { all[chain] = append(all[chain], e.Kind); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func call(principal string) *auditlog.Entry {
	e := &auditlog.Entry{Timestamp: time.Now()}
	e.Payload.Authentication.PrincipalEmail = principal
	if strings.HasPrefix(principal, "principal:") {
		e.Payload.Authentication = auditlog.Authentication{PrincipalSubject: principal}
	}
	return e
}

func TestEntriesGoToTheChainOfTheirIdentity(t *testing.T) {
	h := newHome(t)
	r, end := open(t, h)
	const accounts = "@strata-local.iam.gserviceaccount.com"
	for principal, want := range map[string]string{
		"engineer@strata.local": record.Bootstrap, "team-web" + accounts: "team-web", "strata-nodes" + accounts: record.Other,
		"team-web@evil.iam.gserviceaccount.com": record.Other, "team-web@strata.local": record.Other,
		"principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/ns/team-api/sa/x": "team-api",
		"principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/ns/other/sa/x":    record.Other,
	} {
		if got := r.chainOf(principal); got != want {
			t.Errorf("the chain of %s is %s; want %s", principal, got, want)
		}
		r.Called(call(principal), []byte("{}"))
	}
	for _, repository := range []string{"web", "fleet", "platform", "strata"} {
		r.Pushed(receipt.Push{Repository: repository})
	}
	for _, run := range []runrecord.Run{{Layer: record.Platform, ID: "a"}, {Namespace: "team-web", ID: "b"}, {Namespace: "database", ID: "c"}} {
		if err := runrecord.Write(h.RunRecords(), run); err != nil {
			t.Fatal(err)
		}
	}
	end()
	got := entries(t, h)
	for chain, want := range map[string]string{
		record.Bootstrap: "[call]", record.Platform: "[push run]", record.Sync: "[push push run]", "team-web": "[call push run]", "team-api": "[call]",
		record.Other: "[call call call call]",
	} {
		if fmt.Sprint(got[chain]) != want {
			t.Errorf("the entries of %s are %v; want %s", chain, got[chain], want)
		}
	}
}

// TestATeamFillsItsOwnChainOnly makes more calls than a chain has in an hour.
func TestATeamFillsItsOwnChainOnly(t *testing.T) {
	h := newHome(t)
	r, end := open(t, h)
	const team = "team-web@strata-local.iam.gserviceaccount.com"
	for range mostEntries + 500 {
		r.Called(call(team), []byte("{}"))
	}
	r.Called(call("team-api@strata-local.iam.gserviceaccount.com"), []byte("{}"))
	// Its pushes and runs still have entries.
	r.Pushed(receipt.Push{Repository: "web"})
	end()
	got := entries(t, h)
	web := got["team-web"]
	if len(web) != mostEntries+3 || fmt.Sprint(web[mostEntries:]) != "[omitted push omitted]" || fmt.Sprint(got["team-api"]) != "[call]" {
		t.Errorf("the chains have %d and %d entries; the last ones are %v", len(web), len(got["team-api"]), web[mostEntries:])
	}
}

func TestWritesOfObjectsAreFollowedOverARotation(t *testing.T) {
	h := newHome(t)
	path := filepath.Join(h.Logs(), "audit.log")
	if err := os.MkdirAll(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	event := func(id, resource, uri string, code int) string {
		return fmt.Sprintf(`{"auditID":%q,"requestURI":%q,"verb":"patch","user":{"username":"u"},"objectRef":{"resource":%q,"namespace":"team-web","name":"n"},`+
			`"responseStatus":{"code":%d},"stageTimestamp":%q}`+"\n", id, uri, resource, code, time.Now().UTC().Format(time.RFC3339Nano))
	}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		if got := len(entries(t, h)["team-web"]); got != want {
			t.Errorf("the chain has %d entries; want %d", got, want)
		}
	}
	_, end := open(t, h)
	write(event("1", "secrets", "/x", 200) + event("2", "secrets", "/x?dryRun=All", 200) + event("3", "secrets", "/x", 403) + event("4", "pods", "/x", 200) +
		strings.Repeat("x", longestEvent+100) + "\n" + "garbage\n" + `{"auditID":"half"`)
	end()
	count(1)
	// After a restart, the events before it have no second entry.
	_, end = open(t, h)
	end()
	count(1)
	// The API server renames the file and begins another one.
	o := openObjects(h)
	var seen string
	take := func() {
		t.Helper()
		if err := o.take(func(_ string, w record.Write) { seen += w.AuditID }); err != nil {
			t.Fatal(err)
		}
	}
	take()
	write("\n" + event("5", "secrets", "/x", 200))
	take()
	write(event("6", "secrets", "/x", 200))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(event("7", "secrets", "/x", 200))
	take()
	o.close()
	if seen != "567" {
		t.Errorf("the writes %q have been seen; want each once", seen)
	}
}
