package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/teams"
)

// Config returns the administrator's client configuration, or nil if there is no cluster.
func (p *Platform) Config(ctx context.Context, start bool) (*rest.Config, error) {
	state, err := p.clusterState(ctx)
	if err != nil || state == noCluster {
		return nil, err
	}
	if state == stoppedCluster && !start {
		return nil, fmt.Errorf("%w: `%s` starts it", lifecycle.ErrStopped, p.Home.Call("local start"))
	}
	if state == stoppedCluster {
		if _, err := p.Start(ctx); err != nil {
			return nil, err
		}
		if err := p.client.StartCluster(ctx); err != nil {
			return nil, err
		}
	}
	return kubeconfig.Config(p.Home)
}

// Below returns the status items of layer 1, and the client configuration of a running cluster.
func (p *Platform) Below(ctx context.Context) (items []status.Item, config *rest.Config, err error) {
	if step, begun := p.Home.DownBegun(); begun {
		items = append(items, p.goingDown(step))
	}
	up := p.Home.Call("up")
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster", Name: clusterName}
	s, err := p.client.Status(ctx)
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return nil, nil, err
	}
	switch {
	case err != nil && !p.Home.Exists():
		cluster.Reason, cluster.Message = status.ReasonNotCreated, "there is no platform in "+p.Home.Dir()+" yet: run `"+up+"`"
	case err != nil:
		cluster.Reason, cluster.Message = "NotRunning", "nothing runs in "+p.Home.Dir()+": the supervisor was stopped or killed: run `"+up+"`"
	case s.Cluster == supervisor.ClusterAbsent:
		cluster.Reason, cluster.Message = status.ReasonNotCreated, "layer 1 has not created the cluster yet: run `"+up+"`"
	case s.Cluster != supervisor.ClusterRunning:
		cluster.Reason, cluster.Message = string(s.Cluster), s.ClusterError
		if s.Waiting != "" {
			cluster.Message = "waiting for " + s.Waiting
		}
	default:
		cluster.Ready, cluster.Message = true, s.Server
		if config, err = kubeconfig.Config(p.Home); err != nil {
			return nil, nil, err
		}
	}
	return append(items, cluster), config, nil
}

// goingDown returns the status item of a platform whose `down` is running, or was interrupted in a step.
func (p *Platform) goingDown(step string) status.Item {
	item := status.Item{Layer: status.LayerBootstrap, Kind: "Home", Name: p.Home.Dir()}
	if pid, command := p.Home.Changing(); pid != 0 && pid != os.Getpid() {
		item.Reason, item.Message = "Changing", fmt.Sprintf("`%s` (pid %d) changes the platform", command, pid)
		return item
	}
	if step == home.RestoreStep {
		item.Reason, item.Message = "Restored", fmt.Sprintf("this home is from a backup: run `%s` to create the cluster's objects again", p.Home.Call("up"))
		return item
	}
	item.Reason = "DownInterrupted"
	if step == lifecycle.ClusterStep {
		step = "of the Stacks and namespaces"
	}
	item.Message = fmt.Sprintf("`strata down` did not finish its step %s: run `%s` to continue, or `%s` to create everything again",
		step, p.Home.Call("down"), p.Home.Call("up"))
	return item
}

// Heads implements [lifecycle.Cluster].
func (p *Platform) Heads(list []teams.Team) map[string]string {
	all, err := p.repositories(supervisor.Status{})
	if err != nil {
		return nil // The commands that change the platform report the error.
	}
	return all.Heads(list)
}

// clusterName is the name of layer 1's cluster.
const clusterName = "strata"

// Alive returns an error if the supervisor has ended.
func (p *Platform) Alive(ctx context.Context) error {
	if _, err := p.client.Status(ctx); errors.Is(err, supervisor.ErrNotRunning) {
		return fmt.Errorf("the supervisor ended meanwhile; its log is %s: run `%s` again: it continues after the finished steps",
			p.Home.Log(supervisor.Command), p.Home.Call("up"))
	}
	return nil
}
