// Package attack attacks a running platform by each attacker's own means: a team's Git login, a team's kubeconfig, code in a
// team's run, or another user of the machine.
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

	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// class is what attacks have in common; a wall stands before each, not before single attacks.
type class int

// Classes, as docs/security.md describes them.
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

// Who attacks.
const (
	byPush       = "the team's Git login"
	byKubeconfig = "the team's kubeconfig"
	byRun        = "the team's run"
	byDatabase   = "the team's login to its database"
	byNeighbour  = "another program on the machine"
	byOtherUser  = "another user of the machine"
)

// attack is one way in which the team mallory tries to harm the team web, or the platform.
type attack struct {
	name  string
	class class
	as    string
	// do attacks. It returns nil where nobody stopped it, and an error of refused where somebody did.
	do func(context.Context, *field) error
	// says is a regular expression that the refusal matches. Where it is empty do finds out itself what came of it, and any
	// error is harm.
	says string
	// unharmed returns what the attack has harmed; nil asks nothing.
	unharmed func(context.Context, *field) error
}

// errRefused marks the errors of do that are refusals; any other is a failure of the test.
var errRefused = errors.New("refused")

func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errRefused, fmt.Errorf(format, args...))
}

// attackTimeout bounds one attack. It is generous: a machine that tests much else at the same time is slow.
const attackTimeout = 4 * time.Minute

func (a attack) carryOut(ctx context.Context, f *field) error {
	ctx, cancel := context.WithTimeout(ctx, attackTimeout)
	defer cancel()
	f.bait.renew()
	return errors.Join(a.judge(a.do(ctx, f)), a.harm(ctx, f))
}

// judge compares what came of an attack with what should.
func (a attack) judge(err error) error {
	switch {
	case a.says == "":
		return err
	case err == nil:
		return errors.New("nobody refused it")
	case !errors.Is(err, errRefused):
		return fmt.Errorf("it was not refused, but failed: %w", err)
	case !regexp.MustCompile(a.says).MatchString(strings.TrimPrefix(err.Error(), errRefused.Error()+": ")):
		return fmt.Errorf("the refusal does not match %q: %w", a.says, err)
	}
	return nil
}

func (a attack) harm(ctx context.Context, f *field) error {
	if a.unharmed == nil {
		return nil
	}
	if err := a.unharmed(ctx, f); err != nil {
		return fmt.Errorf("it does harm: %w", err)
	}
	return nil
}

// attacks are all attacks, class by class.
func attacks() []attack {
	list := slices.Concat(remoteAttacks(), availabilityAttacks(), runFileAttacks(), nameAttacks(), metadataAttacks(),
		addressAttacks(), sizeAttacks(), ownershipAttacks(), restAttacks())
	slices.SortStableFunc(list, func(a, b attack) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name)) })
	return list
}

// TestAttacks carries out every attack on one platform. One by one: `go test ./test/attack -run TestAttacks/NAME`.
func TestAttacks(t *testing.T) {
	f := newField(t)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			if a.as == byOtherUser && os.Getuid() != 0 {
				t.Skip("only root acts as another user")
			}
			f.TB = t
			began := time.Now()
			if err := a.carryOut(t.Context(), f); err != nil {
				t.Errorf("class %d, by %s: %v", a.class, a.as, err)
			}
			t.Logf("%.1fs", time.Since(began).Seconds())
		})
	}
	t.Run("the victim is as it was", func(t *testing.T) {
		f.TB = t
		if err := f.web.works(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAttacksAreWellFormed needs no platform.
func TestAttacksAreWellFormed(t *testing.T) {
	names, classes := map[string]bool{}, map[class]int{}
	for _, a := range attacks() {
		if names[a.name] || strings.ContainsAny(a.name, "/\n") {
			t.Errorf("%q is no name of its own", a.name)
		}
		names[a.name] = true
		classes[a.class]++
		if _, err := regexp.Compile(a.says); err != nil || a.do == nil {
			t.Errorf("%s: it does nothing, or no refusal can match (%v)", a.name, err)
		}
	}
	const least = 4 // what was seen once, and three siblings
	for c := remoteContent; c <= atRest; c++ {
		if classes[c] < least {
			t.Errorf("class %d has %d attacks, want at least %d", c, classes[c], least)
		}
	}
}
