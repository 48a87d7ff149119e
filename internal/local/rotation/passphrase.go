package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/reencrypt"
	"github.com/strata-platform/strata/teams"
)

// lockPatience is how long a rotation waits for a run of a team, which holds the lock of a stack or may use the former passphrase. The
// next teams wait as long.
const lockPatience = 5 * time.Minute

// Passphrases replaces the passphrases of teams; none means all. The layers hand both passphrases over before a state moves, and drop
// the former one only when it opens no file of the team.
func (r Rotation) Passphrases(ctx context.Context, given []string) (Result, error) {
	result := Result{Secret: "passphrase", Rotated: []Rotated{}}
	release, err := r.begin()
	if err != nil {
		return result, err
	}
	defer release()
	if r.Local.Home.Operator() == home.UpstreamOperator {
		return result, errors.New("upstream's operator knows one passphrase at a time: rotate a team's passphrase as on Google Cloud, " +
			"see \"Rotate secrets\" in docs/platform-team.md: nothing was changed")
	}
	names, err := r.names(given)
	if err != nil {
		return result, err
	}
	if err := r.generations(func(g *home.Generations) {
		for _, name := range names {
			g.Passphrases[name] = home.Next(g.Passphrases[name])
		}
	}); err != nil {
		return result, err
	}
	if err := r.up(ctx); err != nil {
		return result, err
	}
	handed, err := r.tenants(ctx)
	if err != nil {
		return result, err
	}
	// A team whose states cannot move keeps both passphrases.
	var problems []error
	for _, name := range names {
		rotated, err := r.passphrase(ctx, name, handed[name])
		if err != nil {
			problems = append(problems, fmt.Errorf("team %s: %w", name, err))
			continue
		}
		result.Rotated = append(result.Rotated, rotated)
	}
	if len(result.Rotated) > 0 {
		if err := r.generations(func(g *home.Generations) {
			for _, rotated := range result.Rotated {
				g.Passphrases[rotated.Name] = slices.Clone(g.Passphrases[rotated.Name][:1])
			}
		}); err != nil {
			return result, err
		}
		problems = append(problems, r.up(ctx))
	}
	return result, errors.Join(problems...)
}

// errRunning is the error of a team whose runs do not end.
var errRunning = fmt.Errorf("a run that may use the former secret has not ended within %s: run this again later", lockPatience)

// passphrase moves the states of a team to its new passphrase, and proves that the former one opens none.
func (r Rotation) passphrase(ctx context.Context, name string, fields map[string]any) (rotated Rotated, err error) {
	former, current := text(fields, "formerPassphrase"), text(fields, "passphrase")
	if former == "" || current == "" {
		return rotated, errors.New("layer 1 has not handed over both passphrases: run this again")
	}
	namespace := teams.Team{Name: name}.Namespace()
	folder := r.Local.Home.TenantState(namespace)
	err = r.Show.Run("team "+name+": reencrypt the states", func() (string, error) {
		move := reencrypt.Rotation{Folder: folder, From: former, To: current, Patience: lockPatience}
		first, err := move.Move(ctx)
		if err != nil {
			return "", err
		}
		// A run that began before the context changed may have created a stack since.
		r.Show.Detail("waiting for runs that may still use the former passphrase")
		waiting, cancel := context.WithTimeoutCause(ctx, lockPatience, errRunning)
		defer cancel()
		if err := r.awaitRuns(waiting, namespace); err != nil {
			return "", err
		}
		second, err := move.Move(ctx)
		if err != nil {
			return "", err
		}
		tried, err := reencrypt.Prove(ctx, folder, former)
		if err != nil {
			return "", err
		}
		rotated = Rotated{Name: name, Refused: tried, Proof: fmt.Sprintf("the former passphrase opens none of the %d encrypted files in %s", tried, folder)}
		return fmt.Sprintf("%d moved, %d before; the former passphrase opens none", first.Now+second.Now, first.Before), nil
	})
	return rotated, err
}
