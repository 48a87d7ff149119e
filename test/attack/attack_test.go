// Package attack attacks a running platform with the access that each attacker has: a team's Git login, a team's kubeconfig, code
// in a team's run, or another user of the machine.
package attack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// class is a class of attacks. Each defence covers a class instead of a single attack.
type class int

// Classes as described in docs/security.md.
const (
	remoteContent class = iota + 1
	availability
	filesOfRuns
	decodedNames
	fileMetadata
	addresses
	tooBig
	ownership
	atRest
)

// Attackers and their means.
const (
	byPush       = "the team's Git login"
	byKubeconfig = "the team's kubeconfig"
	byRun        = "the team's run"
	byDatabase   = "the team's login to its database"
	byNeighbour  = "another program on the machine"
	byOtherUser  = "another user of the machine"
)

// attack is one attempt of the team mallory to harm the team web, or the platform.
type attack struct {
	name  string
	class class
	as    string
	// do attacks. It returns nil if the attack succeeds, and an error that wraps errStopped if the platform stops it.
	do func(context.Context, *field) error
	// says is a regular expression that matches the error of a stopped attack. If it is empty, do checks the outcome
	// itself, and any error means harm.
	says string
	// unharmed returns an error for any harm that the attack has done; nil means no check.
	unharmed func(context.Context, *field) error
}

// errStopped marks the errors of stopped attacks. Any other error is a failure of the test.
var errStopped = errors.New("stopped")

func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errStopped, fmt.Errorf(format, args...))
}

// attackTimeout limits one attack. It is generous, because a machine that runs other tests at the same time is slow.
const attackTimeout = 4 * time.Minute

func (a attack) carryOut(ctx context.Context, f *field) error {
	ctx, cancel := context.WithTimeout(ctx, attackTimeout)
	defer cancel()
	f.bait.renew()
	return errors.Join(a.judge(a.do(ctx, f)), a.harm(ctx, f))
}

// judge compares the result of an attack with the expected one.
func (a attack) judge(err error) error {
	switch {
	case a.says == "":
		return err
	case err == nil:
		return errors.New("the attack succeeded")
	case !errors.Is(err, errStopped):
		return fmt.Errorf("the attack was not stopped, but failed: %w", err)
	case !regexp.MustCompile(a.says).MatchString(strings.TrimPrefix(err.Error(), errStopped.Error()+": ")):
		return fmt.Errorf("the error does not match %q: %w", a.says, err)
	}
	return nil
}

func (a attack) harm(ctx context.Context, f *field) error {
	if a.unharmed == nil {
		return nil
	}
	if err := a.unharmed(ctx, f); err != nil {
		return fmt.Errorf("the attack does harm: %w", err)
	}
	return nil
}

// attacks returns the attacks, class by class. longAttacks has larger ones.
func attacks() []attack {
	list := slices.Concat(remoteAttacks(), availabilityAttacks(), runFileAttacks(), nameAttacks(), metadataAttacks(),
		addressAttacks(), sizeAttacks(), ownershipAttacks(), restAttacks())
	slices.SortStableFunc(list, func(a, b attack) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name)) })
	return list
}

// TestAttacks runs the attacks on one platform. To run a single attack: `go test ./test/attack -run TestAttacks/NAME`.
func TestAttacks(t *testing.T) {
	long.Test(t)
	carryOut(t, newField(t), attacks())
}

// carryOut runs attacks as subtests, one after the other, and then checks that the victim still works.
func carryOut(t *testing.T, f *field, list []attack) {
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			if a.as == byOtherUser && os.Getuid() != 0 {
				t.Skip("only root can act as another user")
			}
			f.TB = t
			began := time.Now()
			if err := a.carryOut(t.Context(), f); err != nil {
				t.Errorf("class %d, by %s: %v", a.class, a.as, err)
			}
			t.Logf("%.1fs", time.Since(began).Seconds())
		})
	}
	t.Run("the victim still works", func(t *testing.T) {
		f.TB = t
		if err := f.web.works(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAttacksAreWellFormed needs no platform.
func TestAttacksAreWellFormed(t *testing.T) {
	names, classes := map[string]bool{}, map[class]int{}
	for _, a := range slices.Concat(attacks(), longAttacks()) {
		if names[a.name] || strings.ContainsAny(a.name, "/\n") {
			t.Errorf("the name %q is not unique", a.name)
		}
		names[a.name] = true
		if _, err := regexp.Compile(a.says); err != nil || a.do == nil {
			t.Errorf("%s: the attack does nothing, or its expression is invalid (%v)", a.name, err)
		}
	}
	for _, a := range attacks() {
		classes[a.class]++
	}
	const least = 4 // the original attack, and three variants
	for c := remoteContent; c <= atRest; c++ {
		if classes[c] < least {
			t.Errorf("class %d has %d attacks, want at least %d", c, classes[c], least)
		}
	}
}
