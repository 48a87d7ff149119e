package report_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/graph"
	"github.com/strata-platform/strata/internal/audit/report"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/test/docstest"
)

const hostile = "a\x1b[2J\u202e\nb"

// unsound returns a report with a result of each end and an unexpected path, and hostile texts in each field.
func unsound() *report.Report {
	r := &report.Report{
		Date: time.Date(2026, 11, 24, 17, 0, 0, 0, time.UTC), Identities: []audit.Identity{{Name: hostile}},
		Paths: []graph.Path{{Identity: hostile, Jewel: hostile, Steps: []graph.Step{{From: hostile, To: hostile, By: hostile}}}},
	}
	for _, outcome := range []audit.Outcome{audit.Refused, audit.Allowed, audit.Unexpected, audit.Failed, audit.NotAttempted} {
		r.Results = append(r.Results, audit.Result{Identity: hostile, Area: audit.RBAC, Act: string(outcome), What: hostile, On: hostile, Outcome: outcome, Message: hostile, Why: hostile})
	}
	return r
}

func TestHostileTextsAreEscaped(t *testing.T) {
	r := unsound()
	r.Compare(&report.Report{})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":  func(b *bytes.Buffer) error { return report.Text(b, r) },
		"SARIF": func(b *bytes.Buffer) error { return report.SARIF(b, r) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"\x1b", "\u202e", "\nb"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s contains %q:\n%s", name, bad, out.String())
			}
		}
	}
}

func TestSARIFHasEverythingUnexpectedAndNothingElse(t *testing.T) {
	var out bytes.Buffer
	if err := report.SARIF(&out, unsound()); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct{ Results []struct{ RuleID string } }
	}
	if err := json.Unmarshal(out.Bytes(), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 3 {
		t.Fatalf("%v: %s", err, out.String())
	}
	if last := log.Runs[0].Results[2].RuleID; last != "unexpected-path" {
		t.Errorf("the last rule is %s", last)
	}
}

func key(t *testing.T) *signing.Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	read, err := signing.ReadKey("the key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestAChangedReportIsRefused(t *testing.T) {
	file, own := filepath.Join(t.TempDir(), "audit.json"), key(t)
	if err := unsound().Write(file, own); err != nil {
		t.Fatal(err)
	}
	read, err := report.Read(file, own)
	if err != nil || len(read.Results) != 5 || read.Results[0].What != hostile {
		t.Fatalf("%v: %+v", err, read)
	}
	unsigned := filepath.Join(t.TempDir(), "audit.json")
	if content, err := os.ReadFile(file); err != nil || os.WriteFile(unsigned, content, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(unsigned, own); err == nil || !strings.Contains(err.Error(), "read the signature of the report") {
		t.Errorf("without its signature: %v", err)
	}
	if _, err := report.Read(file, key(t)); err == nil || !strings.Contains(err.Error(), "is no signature of") {
		t.Errorf("with another key: %v", err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(content, []byte("unexpectedly allowed"), []byte("refused"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(file, own); err == nil || !strings.Contains(err.Error(), "somebody has changed the report") {
		t.Errorf("a changed report: %v", err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(file, nil); err == nil || !strings.Contains(err.Error(), "is not a report") {
		t.Errorf("another file: %v", err)
	}
}

func TestChangesOfAttemptsAndPaths(t *testing.T) {
	r, old := unsound(), unsound()
	old.Results[2].Outcome, old.Paths = audit.Refused, nil
	r.Compare(old)
	if len(r.Changes) != 2 || r.Changes[0].Before != "refused" || r.Changes[0].After != "unexpectedly allowed" || r.Changes[1].After != "unexpected path" {
		t.Errorf("the changes are %+v", r.Changes)
	}
	r.Compare(unsound())
	if len(r.Changes) != 0 {
		t.Errorf("compared with an equal report: %+v", r.Changes)
	}
}

func TestTheDocumentedOutputIsThatOfTheType(t *testing.T) {
	docstest.CheckJSON[report.Report](t, "docs/reference/output.md", "audit")
}
