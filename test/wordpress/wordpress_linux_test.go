package wordpress_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/test/browser"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/wordpress"
)

// picturesVariable names a folder that keeps the pictures of the pages.
const picturesVariable = "STRATA_TEST_PICTURES"

// stepsTimeout is how long all steps in the browser may take. They take about 20 s on two idle cores.
const stepsTimeout = 5 * time.Minute

func TestMain(m *testing.M) {
	sandboxes.Main()
	browser.Main()
	os.Exit(m.Run())
}

func TestAPostIsStillThereAfterThePodIsKilled(t *testing.T) {
	long.Test(t)
	address, root := startDatabase(t)
	p := start(t, address)
	tab, cancel := context.WithTimeout(browser.Open(t), stepsTimeout)
	defer cancel()
	blog := wordpress.Blog{URL: p.forward(t), Title: "Strata", User: "engineer", Password: "correct horse battery staple", Email: "engineer@example.com"}
	began := time.Now()
	p.run(t, "WORDPRESS_DB_PASSWORD="+password)
	p.wait(t, blog.URL)
	t.Logf("from the start of the pod to its first page: %s", time.Since(began))
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"install", func() error { return blog.Install(tab) }},
		{"log in", func() error { return blog.LogIn(tab) }},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", step.name, time.Since(began))
	}
	// The letter 𝕊 has four bytes in UTF-8, which MySQL's old utf8 cannot store.
	const title, text = "A pod that runs", "This text is in the team’s database, which 𝕊trata created."
	began = time.Now()
	page, err := blog.Post(tab, title, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("post: %s", time.Since(began))
	read(tab, t, blog, page, title, text)

	var content string
	const query = "SELECT post_content FROM web_wordpress.wp_posts WHERE post_title = ? AND post_status = 'publish'"
	if err := root.QueryRowContext(t.Context(), query, title).Scan(&content); err != nil || !strings.Contains(content, text) {
		t.Errorf("the post in the database is %q: %v", content, err)
	}
	var collation string
	const collations = "SELECT table_collation FROM information_schema.tables WHERE table_schema = 'web_wordpress' AND table_name = 'wp_posts'"
	if err := root.QueryRowContext(t.Context(), collations).Scan(&collation); err != nil || collation != "utf8mb4_unicode_520_ci" {
		t.Errorf("the table has the collation %q: %v", collation, err)
	}

	p.kill(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.run(t, "WORDPRESS_DB_PASSWORD_FILE=/run/secrets/password", spec.Mount{Kind: spec.Bind, Source: file, Target: "/run/secrets/password", ReadOnly: true})
	p.wait(t, blog.URL)
	read(tab, t, blog, page, title, text)
	picture, err := wordpress.Picture(tab)
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv(picturesVariable); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "wordpress-post.png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read fails the test if the page of a post does not have its title and text.
func read(tab context.Context, t *testing.T, blog wordpress.Blog, page, title, text string) {
	t.Helper()
	haveTitle, haveText, err := blog.Read(tab, page)
	if err != nil {
		t.Fatal(err)
	}
	if haveTitle != title || haveText != text {
		t.Errorf("the page %s has the title %q and the text %q", page, haveTitle, haveText)
	}
}
