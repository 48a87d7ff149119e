package wordpress_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/test/browser"
	"github.com/strata-platform/strata/test/wordpress"
)

// picturesVariable names a folder that keeps the pictures of the pages.
const picturesVariable = "STRATA_TEST_PICTURES"

// stepsTimeout is how long all steps in the browser may take. They take about 20 s on two idle cores.
const stepsTimeout = 50 * time.Second

func TestMain(m *testing.M) {
	sandboxes.Main()
	browser.Main()
	os.Exit(m.Run())
}

func TestAPostIsStillThereAfterThePodIsKilled(t *testing.T) {
	p := start(t, startDatabase(t))
	tab, cancel := context.WithTimeout(browser.Open(t), stepsTimeout)
	defer cancel()
	blog := wordpress.Blog{URL: p.forward(t), Title: "Strata", User: "engineer", Password: "correct horse battery staple", Email: "engineer@example.com"}
	began := time.Now()
	p.run(t)
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
	const title, text = "A pod that runs", "This text lies in the team’s database – 数据库 🗄️."
	began = time.Now()
	page, err := blog.Post(tab, title, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("post: %s", time.Since(began))
	read(t, blog, tab, page, title, text)

	p.kill(t)
	p.run(t)
	p.wait(t, blog.URL)
	read(t, blog, tab, page, title, text)
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
func read(t *testing.T, blog wordpress.Blog, tab context.Context, page, title, text string) {
	t.Helper()
	haveTitle, haveText, err := blog.Read(tab, page)
	if err != nil {
		t.Fatal(err)
	}
	if haveTitle != title || haveText != text {
		t.Errorf("the page %s has the title %q and the text %q", page, haveTitle, haveText)
	}
}
