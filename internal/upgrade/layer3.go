package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/internal/versions"
)

// kinds hands layer 3 to Flux, and waits until the cluster serves the kinds of the operator. In layer 3, the operator depends on
// its kinds, so Flux itself keeps the operator back until they are ready.
func (u *upgrade) kinds(ctx context.Context, applies []lifecycle.Step) (string, error) {
	if err := u.hand(ctx, kindsStep, applies); err != nil {
		return "", err
	}
	if err := u.health(ctx, wait.Kinds); err != nil {
		return "", err
	}
	if err := u.established(ctx); err != nil {
		return "", err
	}
	now, err := u.look(ctx)
	if err != nil {
		return "", err
	}
	return "established", behind(kindsVersions(now), "push this version of sync/ to the platform's repository")
}

// operator waits until the operator is rolled out, and everything of the platform is ready. After a stop in this step it hands layer 3
// to Flux again, because a correction of the operator is a push.
func (u *upgrade) operator(ctx context.Context, applies []lifecycle.Step) (string, error) {
	if u.from != operatorStep {
		applies = nil
	}
	if err := u.hand(ctx, operatorStep, applies); err != nil {
		return "", err
	}
	if err := u.health(ctx, wait.Platform); err != nil {
		return "", err
	}
	now, err := u.look(ctx)
	if err != nil {
		return "", err
	}
	return "everything of the platform is ready", behind(slices.Concat(kindsVersions(now), operatorVersions(now)),
		"push this version of sync/ to the platform's repository, or set operatorImage of layer 2 if it names the image")
}

// behind returns an error if Flux applies other versions than those of this strata.
func behind(left []Version, remedy string) error {
	if len(left) == 0 {
		return nil
	}
	var texts []string
	for _, each := range left {
		texts = append(texts, each.String())
	}
	return fmt.Errorf("Flux does not apply the versions of this strata: %s: %s", strings.Join(texts, ", "), remedy)
}

// hand records a step of layer 3, and hands layer 3 to Flux.
func (u *upgrade) hand(ctx context.Context, step string, applies []lifecycle.Step) error {
	if err := u.begin(step); err != nil {
		return err
	}
	for _, each := range applies {
		if _, err := each.Do(ctx, u.show); err != nil {
			return err
		}
	}
	return nil
}

// established waits until the API server serves the kinds of the operator that Flux has applied.
func (u *upgrade) established(ctx context.Context) error {
	config, err := u.Config(ctx, false)
	if err != nil || config == nil {
		return err
	}
	about, missing := u.About(), ""
	// Each request has a limit of its own, so that the end of the wait reports what is missing, and no cancelled request.
	err = apiwait.PollUntilContextTimeout(ctx, about.Poll, about.Ready, true, func(context.Context) (bool, error) {
		missing, err = versions.Unestablished(ctx, config)
		u.show.Detail("waiting for %s", missing)
		return missing == "", err
	})
	if apiwait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the kinds of the operator are not ready after %s: %s (all causes: `%s`)", about.Ready, missing, about.Call("status"))
	}
	return err
}
