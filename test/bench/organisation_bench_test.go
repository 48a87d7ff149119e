package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

const (
	// initBound limits the time from strata init in an empty folder until everything is Ready: that of up, and 5 s.
	initBound = 30 * time.Second
	// orderBound limits the time from the start of a push with an order until the team has the Secret.
	orderBound = 5 * time.Second
	orders     = 3
)

// BenchmarkOrganisation makes an organisation's repository and brings it up. Then a team orders databases.
func BenchmarkOrganisation(b *testing.B) {
	p := stratatest.NewWithTools(b)
	root := filepath.Join(p.Dir, "acme")
	run := func(dir, name string, args ...string) {
		command := p.Command(b.Context(), args...)
		if name != "strata" {
			command = exec.CommandContext(b.Context(), name, args...)
		}
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
	}
	commit := func(message string) {
		run(root, "git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--all", "--message="+message)
	}
	began := time.Now()
	run(p.Dir, "strata", "init", root)
	commit("Begin with Strata")
	run(root, "strata", "up")
	figure.Seconds(b, "strata init to everything Ready", time.Since(began), initBound)

	teamsFile := []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n  - name: shop\ncatalogue:\n  - name: database\n")
	if err := os.WriteFile(filepath.Join(root, "teams.yaml"), teamsFile, 0o600); err != nil {
		b.Fatal(err)
	}
	commit("Offer databases to shop")
	run(root, "strata", "up")
	shop, secrets := cloneOf(b, p, "shop", "shop"), p.Kubernetes().CoreV1().Secrets("team-shop")
	var worst time.Duration
	for i := range orders {
		name := fmt.Sprintf("orders%d", i)
		order := "apiVersion: catalogue.strata.dev/v1\nkind: Database\nmetadata:\n  name: " + name + "\n"
		if err := os.WriteFile(filepath.Join(shop.dir, name+".yaml"), []byte(order), 0o600); err != nil {
			b.Fatal(err)
		}
		shop.git("add", name+".yaml")
		shop.commit("kustomization.yaml", "resources:\n", "resources:\n  - "+name+".yaml\n")
		began := time.Now()
		shop.git("push", "--quiet")
		err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
			_, err := secrets.Get(ctx, name+"-database", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			b.Fatalf("wait for the Secret of order %s: %v", name, err)
		}
		worst = max(worst, time.Since(began))
	}
	figure.Seconds(b, "order of a Database pushed to its Secret, the slowest of 3", worst, orderBound)
}
