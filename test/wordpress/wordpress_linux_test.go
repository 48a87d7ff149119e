package wordpress_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/images"
	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/browser"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
	"github.com/strata-platform/strata/test/wordpress"
)

// picturesVariable names a folder that keeps the pictures of the pages.
const picturesVariable = "STRATA_TEST_PICTURES"

const (
	// stepsTimeout is how long all steps in the browser may take. They take about 20 s on two idle cores.
	stepsTimeout = 5 * time.Minute
	// podTimeout is how long the next pod may take to be ready.
	podTimeout = 2 * time.Minute
)

// The names of examples/wordpress.
const (
	namespace = "team-web"
	labels    = "app=wordpress"
	secret    = "sql-auth"
)

func TestMain(m *testing.M) {
	browser.Main()
	os.Exit(stratatest.Main(m))
}

// The whole chain: a platform without network, whose WordPress is the example as it stands, reaches the team's database through
// the official proxy.
func TestAPostIsStillThereAfterThePodIsKilled(t *testing.T) {
	long.Test(t)
	p := stratatest.NewWithTools(t)
	p.Run("image", "load", bundle(t))
	began := time.Now()
	url := pageOf(t, p.Run("up", "-o", "json"))
	t.Logf("from the first call to the page: %s", time.Since(began))

	tab, cancel := context.WithTimeout(browser.Open(t), stepsTimeout)
	defer cancel()
	blog := wordpress.Blog{URL: strings.TrimSuffix(url, "/"), Title: "Strata", User: "engineer", Password: "correct horse battery staple", Email: "engineer@example.com"}
	began = time.Now()
	if err := blog.Install(tab); err != nil {
		t.Fatal(err)
	}
	if err := blog.LogIn(tab); err != nil {
		t.Fatal(err)
	}
	// The letter 𝕊 has four bytes in UTF-8, which MySQL's old utf8 cannot store.
	const title, text = "A pod that runs", "This text is in the team’s database, which 𝕊trata created."
	page, err := blog.Post(tab, title, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("install, log in and post: %s", time.Since(began))
	read(tab, t, blog, page, title, text)
	checkDatabase(t, p, title, text)

	killPod(t, p)
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
	p.Run("down", "--purge", "--yes")
}

// bundle writes the images of the example, and returns the path of the file.
func bundle(t *testing.T) string {
	t.Helper()
	folder, err := images.Recipe("wordpress")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := images.Write(t.Context(), file, images.Contents{
		Recipes: []fs.FS{folder}, CloudSQLProxy: toolchaintest.Path(t, "cloud-sql-proxy"), Report: func(line string) { t.Log(line) },
	}); err != nil {
		t.Fatal(err)
	}
	return file
}

// pageOf returns the address of the only page in the output of `strata up -o json`, whose pods all run.
func pageOf(t *testing.T, output []byte) string {
	t.Helper()
	var result struct {
		Pages     []forward.Result
		Simulated []any
	}
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Pages) != 1 || len(result.Simulated) > 0 {
		t.Fatalf("the pages are %v, and the simulated pods %v", result.Pages, result.Simulated)
	}
	return result.Pages[0].URL
}

// checkDatabase fails the test if the team's database, as its user sees it, does not contain the post.
func checkDatabase(t *testing.T, p *stratatest.Platform, title, text string) {
	t.Helper()
	s, err := p.Kubernetes().CoreV1().Secrets(namespace).Get(t.Context(), secret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", string(s.Data["host"])+":3306"
	config.User, config.Passwd, config.DBName = string(s.Data["username"]), string(s.Data["password"]), string(s.Data["database"])
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var content, collation string
	if err := db.QueryRowContext(t.Context(), "SELECT post_content FROM wp_posts WHERE post_title = ? AND post_status = 'publish'", title).Scan(&content); err != nil || !strings.Contains(content, text) {
		t.Errorf("the post in the database is %q: %v", content, err)
	}
	const collations = "SELECT table_collation FROM information_schema.tables WHERE table_schema = ? AND table_name = 'wp_posts'"
	if err := db.QueryRowContext(t.Context(), collations, config.DBName).Scan(&collation); err != nil || collation != "utf8mb4_unicode_520_ci" {
		t.Errorf("the table has the collation %q: %v", collation, err)
	}
}

// killPod deletes WordPress's pod without grace, and waits for the next one.
func killPod(t *testing.T, p *stratatest.Platform) {
	t.Helper()
	pods := p.Kubernetes().CoreV1().Pods(namespace)
	old, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: labels})
	if err != nil || len(old.Items) != 1 {
		t.Fatalf("%d pods: %v", len(old.Items), err)
	}
	began := time.Now()
	if err := pods.Delete(t.Context(), old.Items[0].Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	last := errors.New("there is no other pod")
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, podTimeout, true, func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labels})
		if err != nil {
			return false, err
		}
		for _, pod := range list.Items {
			if pod.UID == old.Items[0].UID {
				continue
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					return true, nil
				}
			}
			last = fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("wait for the next pod: %v: %v", err, last)
	}
	t.Logf("from the kill to the next ready pod: %s", time.Since(began))
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
