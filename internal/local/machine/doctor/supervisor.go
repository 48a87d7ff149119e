package doctor

import (
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// checkSupervisor reports the states of the home's supervisor, of its cluster and of its processes.
func checkSupervisor(f Facts) []Finding {
	const check = "platform"
	s := f.Supervisor
	call := f.call
	switch {
	case f.SupervisorError != nil:
		return found(check, Warning, "see "+call("logs supervisor")+"; "+call("local stop")+" stops the platform", "%v", f.SupervisorError)
	case s == nil:
		return found(check, OK, "", "nothing runs in %s", f.Home)
	case s.Stopping:
		return found(check, Note, "", "supervisor (pid %d) is stopping", s.Pid)
	case s.Cluster == supervisor.ClusterFailed:
		return found(check, Warning, "see "+call("logs supervisor")+", then "+call("local stop")+" and "+call("local start"),
			"supervisor (pid %d) runs, its cluster does not: %s", s.Pid, s.ClusterError)
	}
	findings := found(check, OK, "", "supervisor (pid %d) runs, its cluster is %s", s.Pid, s.Cluster)
	if s.Cluster == supervisor.ClusterRunning {
		findings = append(findings, checkHealth(f, "its control plane", s.ControlPlane)...)
		findings = append(findings, checkHealth(f, "its node", s.Node)...)
	}
	for _, p := range s.Processes {
		last := ""
		if p.LastExit != nil {
			last = ": " + p.LastExit.Message
		}
		remedy := "see " + call("logs "+p.Name)
		switch {
		case !p.Running:
			findings = append(findings, found(check, Warning, remedy, "%s is %s%s", p.Name, p.Phase, last)...)
		case p.Restarts > 0:
			findings = append(findings, found(check, Note, remedy, "%s runs; restarts: %d%s", p.Name, p.Restarts, last)...)
		}
	}
	return findings
}

// checkHealth reports a part of the cluster that is not ready.
func checkHealth(f Facts, part string, health supervisor.Health) []Finding {
	if health.Ready {
		return nil
	}
	return found("platform", Warning, "see "+f.call("local status")+" and "+f.call("logs supervisor"), "%s is not ready: %s", part, health.Message)
}

// call returns a call of strata for the home, in the quotes of a remedy.
func (f Facts) call(words string) string { return "`" + home.Call(f.Home, words) + "`" }
