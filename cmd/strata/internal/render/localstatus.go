package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// LocalStatus prints the status of a supervisor and its child processes, as of now.
func LocalStatus(w io.Writer, s supervisor.Status, now time.Time) error {
	state := "running"
	if s.Stopping {
		state = "stopping"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	line("home", "%s", s.Home)
	line("supervisor", "%s, pid %d, up %s, %s", state, s.Pid, duration.HumanDuration(now.Sub(s.StartedAt)), megabytes(s.MemoryBytes))
	line("Google", "%s (emulated)", s.GoogleURL)
	line("Git", "%s", s.GitURL)
	if s.Server != "" {
		line("API server", "%s", s.Server)
	}
	if s.Cluster == supervisor.ClusterRunning {
		line("control plane", "%s", readiness(s.ControlPlane))
		line("node", "%s", readiness(s.Node))
	} else {
		line("control plane", "%s", clusterState(s))
	}
	var ports []string
	for _, name := range slices.Sorted(maps.Keys(s.Ports)) {
		ports = append(ports, fmt.Sprintf("%s %d", name, s.Ports[name]))
	}
	line("ports", "%s", strings.Join(ports, ", "))
	if err := table.Flush(); err != nil || len(s.Processes) == 0 {
		return err
	}
	fmt.Fprintln(table, "\nPROCESS\tSTATE\tPID\tRESTARTS\tUPTIME\tMEMORY\tLAST EXIT")
	for _, p := range s.Processes {
		fmt.Fprintln(table, strings.Join(processColumns(p, now), "\t"))
	}
	return table.Flush()
}

// processColumns returns the columns of a process in the table.
func processColumns(p process.State, now time.Time) []string {
	pid, uptime, exit := "-", "-", "-"
	if p.Running {
		pid, uptime = fmt.Sprint(p.Pid), duration.HumanDuration(now.Sub(p.StartedAt))
	}
	if p.LastExit != nil {
		exit = fmt.Sprintf("%s ago: %s", duration.HumanDuration(now.Sub(p.LastExit.At)), p.LastExit.Message)
	}
	return []string{p.Name, string(p.Phase), pid, fmt.Sprint(p.Restarts), uptime, megabytes(p.MemoryBytes), exit}
}

// readiness describes the health of a part of the platform.
func readiness(h supervisor.Health) string {
	text := "ready"
	if !h.Ready {
		text = "not ready: " + h.Message
	}
	if h.Restarts > 0 {
		text += fmt.Sprintf(", %d restarts", h.Restarts)
	}
	return text
}

// clusterState describes a control plane that does not run.
func clusterState(s supervisor.Status) string {
	text := string(s.Cluster)
	switch {
	case s.ClusterError != "":
		text += ": " + s.ClusterError
	case s.Waiting != "":
		text += ": waiting for " + s.Waiting
	}
	return text
}

// megabytes returns a number of bytes for people; 0 means unknown.
func megabytes(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}
