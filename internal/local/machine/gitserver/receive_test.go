package gitserver_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestAcceptedPushesHaveAReceipt(t *testing.T) {
	s := newSite(t, nil)
	var mu sync.Mutex
	var all []receipt.Push
	s.Received = func(p receipt.Push) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, p)
	}
	last := func(count int) receipt.Push {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if len(all) != count {
			t.Fatalf("the server has reported %d pushes; want %d", len(all), count)
		}
		return all[count-1]
	}
	dir := clone(t)
	commit(t, dir, "kustomization.yaml", "resources: []\n")
	// The name, the message and the date are those of somebody who wants to confuse a reader.
	hostile := "evil\x1b[2J\u202e" + strings.Repeat("n", 5000)
	must(t, dir, "commit", "--quiet", "--allow-empty", "--author="+hostile+" <a@b.example>", "--date=1.1.2099 00:00:00 +0000",
		"--message=subject\x1b]0;x\x07 "+strings.Repeat("m", 5000)+"\n\nbody")
	id := must(t, dir, "rev-parse", "HEAD")
	must(t, dir, "push", "--quiet", s.remote(t, "web", "web"), "main")
	p := last(1)
	if p.Account != "web" || p.Repository != "web" || len(p.Updates) != 1 {
		t.Fatalf("the receipt is %+v", p)
	}
	u := p.Updates[0]
	if u.Ref != "refs/heads/main" || u.New != id || strings.Trim(u.Old, "0") != "" || u.Commit == nil {
		t.Fatalf("the update is %+v", u)
	}
	c := u.Commit
	if c.ID != id || !strings.HasPrefix(c.Author, "evil\x1b[2J") || len(c.Author) > 210 || !strings.HasPrefix(c.Subject, "subject") || len(c.Subject) > 210 ||
		strings.Contains(c.Subject, "\n") || c.Authored.Year() != 2099 || time.Since(c.Authored) > 0 {
		t.Errorf("the commit is %+v", c)
	}

	// An annotated tag by the engineer, and a deletion.
	must(t, dir, "tag", "--annotate", "--message=x", "v1.0.0")
	must(t, dir, "push", "--quiet", s.remote(t, "web", gitserver.Engineer), "v1.0.0", "main:other")
	p = last(2)
	if p.Account != gitserver.Engineer || len(p.Updates) != 2 || p.Updates[0].Commit == nil || p.Updates[1].Commit == nil ||
		p.Updates[0].Commit.ID != id || p.Updates[1].Commit.ID != id {
		t.Errorf("the receipt of a tag and a branch is %+v", p)
	}
	must(t, dir, "push", "--quiet", "--delete", s.remote(t, "web", "web"), "other")
	if p = last(3); p.Updates[0].Commit != nil || strings.Trim(p.Updates[0].New, "0") != "" {
		t.Errorf("the receipt of a deletion is %+v", p)
	}

	// A rejected push has no receipt, and many updates are bounded.
	other := clone(t)
	commit(t, other, "kustomization.yaml", "resources: [https://example.com/x]\n")
	if out, err := git(other, "push", "--quiet", s.remote(t, "shop", "shop"), "main"); err == nil {
		t.Fatalf("the server accepts a remote resource: %s", out)
	}
	last(3)
	refs := []string{"push", "--quiet", s.remote(t, "web", "web")}
	for _, name := range strings.Split(strings.Repeat("x ", receipt.MostUpdates+3), " ")[:receipt.MostUpdates+3] {
		refs = append(refs, "main:refs/heads/"+name+string(rune('a'+len(refs))))
	}
	must(t, dir, refs...)
	if p = last(4); len(p.Updates) != receipt.MostUpdates || p.More != 3 {
		t.Errorf("the receipt has %d updates and %d more", len(p.Updates), p.More)
	}
}
