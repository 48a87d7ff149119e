package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
)

// sight is the result of a look.
type sight struct {
	report status.Report
	err    error
}

// waits returns a Wait whose looks return the given results in order, the last one repeatedly. Its clock advances by 15 s
// with every reading.
func waits(looks ...sight) Wait {
	clock := time.Now()
	return Wait{
		Look: func(context.Context) (status.Report, error) {
			found := looks[0]
			looks = looks[min(1, len(looks)-1):]
			return found.report, found.err
		},
		Config: func(context.Context) (*rest.Config, error) { return nil, errors.New("none") },
		Limit:  time.Hour, Every: time.Microsecond, Call: "strata status",
		now: func() time.Time { clock = clock.Add(15 * time.Second); return clock },
	}
}

func found(items ...status.Item) sight { return sight{report: status.NewReport(items)} }

func TestAWaitEndsEarlyIfWaitingDoesNotHelp(t *testing.T) {
	ready := found(status.Item{Kind: "Cluster", Ready: true})
	cluster := func(reason string) sight {
		return found(status.Item{Kind: "Cluster", Name: "strata", Reason: reason, Message: "why"})
	}
	broken := sight{err: errors.New("teams.yaml: line 3: no such field")}
	for name, test := range map[string]struct {
		looks []sight
		says  string // "" if the platform becomes ready
	}{
		"a cluster that denies access":          {[]sight{cluster("AccessDenied")}, "waiting does not make the platform ready: Cluster strata: AccessDenied: why (all causes: `strata status`"},
		"a cluster that was not created":        {[]sight{cluster("NotCreated")}, "waiting does not make the platform ready: Cluster strata: NotCreated"},
		"looks that always fail with one error": {[]sight{broken}, "has failed for 1m0s: teams.yaml: line 3: no such field (try again: `strata status`"},
		"a cluster that answers in the end":     {[]sight{cluster("Unreachable"), cluster("Unreachable"), cluster("Unreachable"), cluster("Unreachable"), cluster("Unreachable"), ready}, ""},
		"looks that fail with new errors":       {failures(40, ready), ""},
		"looks that fail sometimes":             {[]sight{broken, cluster("Progressing"), broken, cluster("Progressing"), broken, cluster("Progressing"), broken, broken, ready}, ""},
		"a cause that passes in time":           {[]sight{cluster("AccessDenied"), ready}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := waits(test.looks...).Ready(ctx, func(status.Item) {})
			switch {
			case test.says == "" && err != nil:
				t.Errorf("it fails: %v", err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("the error does not say %q: %v", test.says, err)
			}
		})
	}
}

// failures returns n looks that fail, each with another error, followed by last.
func failures(n int, last sight) []sight {
	var looks []sight
	for i := range n {
		looks = append(looks, sight{err: fmt.Errorf("connection %d is reset", i)})
	}
	return append(looks, last)
}

func TestAWaitEndsWithThePlatformsProcess(t *testing.T) {
	w := waits(found(status.Item{Kind: "Cluster", Reason: "Progressing"}))
	w.Runs = func(context.Context) error { return errors.New("the supervisor ended meanwhile") }
	if _, err := w.Ready(t.Context(), func(status.Item) {}); err == nil || !strings.Contains(err.Error(), "the supervisor ended meanwhile") {
		t.Errorf("it ends with %v", err)
	}
}

func TestAWaitThatTakesTooLongNamesTheCause(t *testing.T) {
	w := waits(found(status.Item{Kind: "Cluster", Name: "strata", Reason: "Unreachable"}))
	w.Limit = time.Nanosecond
	if _, err := w.Ready(t.Context(), func(status.Item) {}); err == nil || !strings.Contains(err.Error(), "not ready after 1ns: Cluster strata: Unreachable") {
		t.Errorf("it ends with %v", err)
	}
}

func TestAWaitConfirmsTheReportOfAWatch(t *testing.T) {
	w := waits(found(status.Item{Kind: "Cluster", Ready: true}))
	late := []sight{found(status.Item{Kind: "Cluster", Reason: "Progressing"}), found(status.Item{Kind: "Cluster", Ready: true})}
	asked := 0
	w.Sure = func(context.Context) (status.Report, error) {
		asked++
		return late[asked-1].report, nil
	}
	if report, err := w.Ready(t.Context(), func(status.Item) {}); err != nil || !report.Ready || asked != len(late) {
		t.Errorf("after %d looks it ends with %v (%v)", asked, report, err)
	}
}
