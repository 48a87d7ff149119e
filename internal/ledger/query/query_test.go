package query_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/operator/runrecord"
)

// began is the time at which the stories of the tests begin.
var began = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

func second(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }

const (
	database = "projects/strata-local/instances/strata/databases/web_shop"
	team     = "team-web@strata-local.iam.gserviceaccount.com"
	commit   = "6907ea3ee2e8835e1e6c956be7f4cbbd0ceae9ce"
)

// story is a ledger that a test writes.
type story struct {
	*testing.T
	dir    string
	ledger *ledger.Ledger
}

func newStory(t *testing.T) *story {
	t.Helper()
	key, err := signing.EnsureKey("the test's key", filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := &story{T: t, dir: t.TempDir()}
	if s.ledger, err = ledger.Open(ledger.Options{Dir: s.dir, Key: key, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ledger.Close() })
	return s
}

func (s *story) add(chain, kind string, content any) {
	s.Helper()
	if err := s.ledger.Append(chain, kind, content); err != nil {
		s.Fatal(err)
	}
}

func (s *story) push(id, author string) {
	s.add("team-web", record.Push, receipt.Push{Account: "web", Repository: "web", Updates: []receipt.Update{{
		Ref: "refs/heads/main", Old: strings.Repeat("0", 40), New: id, Commit: &receipt.Commit{ID: id, Author: author, Subject: "Order a database"},
	}}})
}

// run adds the begin and, if the end is not negative, the end of a run of the Stack shop.
func (s *story) run(id string, from, to int, change func(*runrecord.Run)) {
	run := runrecord.Run{
		ID: id, Namespace: "team-web", Stack: "shop", Program: "shop", Operation: "up", Commit: commit, Account: "web",
		Reason: "strata run team-web/" + id, Began: second(from),
	}
	s.add("team-web", record.Run, run)
	if to < 0 {
		return
	}
	run.Ended, run.Result, run.Tokens = second(to), runrecord.Succeeded, []string{"JTI=" + id}
	if change != nil {
		change(&run)
	}
	s.add("team-web", record.Run, run)
}

func (s *story) call(method, resource, reason string, at int) {
	s.add("team-web", record.CloudCall, record.Call{
		Time: second(at), InsertID: fmt.Sprint(at), Principal: team, Service: "cloudsql.googleapis.com", Method: method, Resource: resource,
		Role: "projects/strata-local/roles/strataTenant", Policy: "projects/strata-local", Permission: method, Reason: reason,
	})
}

func (s *story) book() *query.Book {
	s.Helper()
	chains, err := ledger.Chains(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	b, err := query.Load(s.dir, chains...)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// why answers a question, which must have an answer.
func (s *story) why(words ...string) query.Answer {
	s.Helper()
	b := s.book()
	of, err := b.Find(words...)
	if err != nil {
		s.Fatal(err)
	}
	return b.Why(of)
}

func TestWhyWalksFromTheResourceToTheAuthor(t *testing.T) {
	s := newStory(t)
	s.push(commit, "Ada <ada@example.com>")
	s.run("shop-1", 10, 20, func(r *runrecord.Run) {
		r.Changes = []runrecord.Change{{Op: "create", Type: "gcp:sql/database:Database", Name: "orders", ID: database}}
		r.Approval = &runrecord.Approval{By: "ben", Plan: "stack.shop", Digest: "sha256:1"}
	})
	s.call("cloudsql.databases.create", database, "strata run team-web/shop-1", 12)
	s.call("cloudsql.databases.update", database, "strata run team-web/shop-1", 13)
	for _, words := range [][]string{{"web_shop"}, {"database", "web_shop"}, {"gcp:sql/database:Database", "web_shop"}, {database},
		{"https://sqladmin.googleapis.com/sql/v1beta4/" + database}, {"http://127.0.0.1:1/sqladmin/v1/" + database}} {
		a := s.why(words...)
		if a.Resource != database || !a.Exists || a.Made.Call.Method != "cloudsql.databases.create" || a.Made.Link != query.ByReason || len(a.Changes) != 1 {
			t.Fatalf("the answer to %q is %+v", words, a)
		}
		o := a.Made.Origins[0]
		if len(a.Made.Origins) != 1 || o.Run.ID != "shop-1" || o.Resource != "orders" || o.Run.Approval.By != "ben" || o.PushedBy != "web" ||
			o.Commit.Author != "Ada <ada@example.com>" || len(o.Calls) != 2 {
			t.Errorf("the origin of %q is %+v", words, o)
		}
	}
}

// TestForgedReasonsLinkNothingFalse sends reasons as a team's code can.
func TestForgedReasonsLinkNothingFalse(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		at     int
		link   string
		runs   string
	}{
		"its own run":                     {"strata run team-web/a", 12, query.ByReason, "a"},
		"a simultaneous run of the team":  {"strata run team-web/b", 16, query.ByReason, "b"},
		"a run that has ended":            {"strata run team-web/a", 60, query.Unlinked, ""},
		"a run of another team":           {"strata run team-api/x", 12, query.ByTime, "a"},
		"no reason, while two runs ran":   {"", 16, query.ByTime, "a b"},
		"no reason, long after every run": {"", 300, query.Unlinked, ""},
		"a clock that is a little late":   {"strata run team-web/a", 22, query.ByReason, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.run("a", 10, 20, nil)
			s.run("b", 15, 25, func(r *runrecord.Run) { r.Stack = "other" })
			s.add("team-api", record.Run, runrecord.Run{ID: "x", Namespace: "team-api", Stack: "api", Reason: "strata run team-api/x", Began: second(10), Ended: second(20), Result: runrecord.Succeeded})
			if test.at < 14 {
				// Both runs are in the tolerance of the clocks.
				s.call("cloudsql.databases.create", database, test.reason, test.at-5)
				test.at -= 5
			} else {
				s.call("cloudsql.databases.create", database, test.reason, test.at)
			}
			a := s.why(database)
			var runs []string
			for _, o := range a.Made.Origins {
				runs = append(runs, o.Run.ID)
			}
			if a.Made.Link != test.link || strings.Join(runs, " ") != test.runs {
				t.Errorf("the call is linked by %s to %q; want %s to %q", a.Made.Link, runs, test.link, test.runs)
			}
		})
	}
}

func TestSecretsAreLinkedByTheToken(t *testing.T) {
	s := newStory(t)
	write := func(user, by, token, name string, at int) {
		s.add("team-web", record.ObjectWrite, record.Write{
			Time: second(at), AuditID: name, User: user, By: by, Verb: "patch", Resource: "secrets", Namespace: "team-web", Name: name, Token: token,
		})
	}
	s.run("shop-1", 10, 20, nil)
	s.run("shop-2", 11, 21, func(r *runrecord.Run) { r.Stack = "other" })
	const web = "system:serviceaccount:team-web:web"
	write(web, "", "JTI=shop-2", "by-token", 12)
	write(web, "", "", "by-time", 12)
	write(web, "system:serviceaccount:flux-system:kustomize-controller", "", "by-flux", 100)
	write("system:serviceaccount:team-web:other", "", "", "by-nobody", 12)
	for name, want := range map[string]string{"by-token": "token shop-2", "by-time": "time shop-1 shop-2", "by-flux": "flux", "by-nobody": "none"} {
		a := s.why("secret", "team-web/"+name)
		got := a.Made.Link
		for _, o := range a.Made.Origins {
			got += " " + o.Run.ID
		}
		if got != want {
			t.Errorf("Secret %s is linked by %q; want %q", name, got, want)
		}
	}
}

func TestAResourceThatWasDeletedAndMadeAgain(t *testing.T) {
	s := newStory(t)
	for i, method := range []string{"cloudsql.databases.create", "cloudsql.databases.delete", "cloudsql.databases.create"} {
		s.call(method, database, "", i*100)
	}
	if a := s.why(database); !a.Exists || !a.Made.Call.Time.Equal(second(200)) {
		t.Errorf("the answer is %+v", a)
	}
	s.call("cloudsql.databases.delete", database, "", 300)
	if a := s.why(database); a.Exists || !a.Made.Call.Time.Equal(second(200)) || len(a.Changes) != 1 {
		t.Errorf("the answer about a deleted database is %+v", a)
	}
}

func TestQuestionsWithoutOneAnswerSayWhatToDo(t *testing.T) {
	s := newStory(t)
	if _, err := s.book().Find("x\x1b[31m"); err == nil || !strings.Contains(err.Error(), `x\x1b[31m: it is empty`) {
		t.Errorf("the error of an empty ledger is %v", err)
	}
	s.call("cloudsql.users.create", "projects/strata-local/instances/strata/users/web", "", 1)
	s.call("cloudsql.users.create", "projects/strata-local/instances/other/users/web", "", 2)
	s.add("team-web", record.CloudCall, record.Call{Time: second(3), InsertID: "3", Method: "cloudsql.users.create", Resource: "projects/x/instances/i/users/denied", Code: 7})
	for question, want := range map[string]string{
		"web":         "is the name of 2 resources: name one with `strata why projects/strata-local/instances/other/users/web` or ",
		"user web":    "is the name of 2 resources",
		"user denied": "the ledger has no entry about user denied since ",
		"galaxy x":    "galaxy is not a kind of resource: use one of account, bucket, ",
		"a/b":         "no entry about a/b since",
	} {
		_, err := s.book().Find(strings.Fields(question)...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error of %q is %v; want %q", question, err, want)
		}
	}
}

// TestManyEntriesAreReadInTime reads a ledger of 10,000 calls.
func TestManyEntriesAreReadInTime(t *testing.T) {
	s := newStory(t)
	s.run("shop-1", 0, 100_000, nil)
	for i := range 10_000 {
		s.call("cloudsql.databases.update", database, "strata run team-web/shop-1", i)
	}
	start := time.Now()
	a := s.why(database)
	if len(a.Changes) != 20 || a.More != 9979 || a.Made.Origins[0].MoreCalls != 9950 {
		t.Errorf("the answer has %d changes, %d more, and %d more calls", len(a.Changes), a.More, a.Made.Origins[0].MoreCalls)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the answer took %s", took)
	}
}

func TestTheAuditLogMustContainTheCalls(t *testing.T) {
	s := newStory(t)
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	var lines []string
	for i := range 4 {
		line := fmt.Sprintf(`{"insertId":"%d","timestamp":%q}`, i, second(100*i).Format(time.RFC3339))
		lines = append(lines, line)
		sum := sha256.Sum256([]byte(line))
		s.add("team-web", record.CloudCall, record.Call{Time: second(100 * i), InsertID: fmt.Sprint(i), Digest: hex.EncodeToString(sum[:]), Method: "m"})
	}
	b := s.book()
	check := func(want string, content ...string) {
		t.Helper()
		if err := os.WriteFile(log, []byte(strings.Join(content, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		problems, err := b.CheckAuditLog(log+".1", log)
		if err != nil || fmt.Sprint(problems) != "[]" && want == "" || !strings.Contains(fmt.Sprint(problems), want) {
			t.Errorf("the problems are %v (%v); want %q", problems, err, want)
		}
	}
	check("", lines...)
	check("", lines[1:]...) // rotated away
	check("", append([]string{`{"insertId":"older","timestamp":"2020-01-01T00:00:00Z"}`}, lines...)...)
	check("line 2 is not the call", lines[0], strings.Replace(lines[1], "T09:", "T08:", 1), lines[2], lines[3])
	check("entry 3: the audit log does not contain this call", lines[0], lines[1], lines[3])
	check("line 3 is not the call", lines[0], lines[1], "garbage", lines[2], lines[3])
}
