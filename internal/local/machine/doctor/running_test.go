package doctor_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/doctor"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// TestDoctorOfARunningPlatform runs the real command on a running platform, and on a platform after one of its
// programs died.
func TestDoctorOfARunningPlatform(t *testing.T) {
	long.Test(t)
	p := stratatest.NewWithTools(t)
	p.Run("local", "start")
	if list := platform(t, p); len(list) != 1 || list[0].Level != doctor.OK || !strings.Contains(list[0].Found, "its cluster is running") {
		t.Errorf("doctor says %+v", list)
	}
	for pid, process := range p.Processes() {
		if strings.Contains(process.Line, "kube-scheduler") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	var last []doctor.Finding
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = platform(t, p)
		return slices.ContainsFunc(last, func(f doctor.Finding) bool {
			// The command must reach this home even from a shell whose environment names another home, or none.
			return f.Level == doctor.Note && strings.Contains(f.Found, "kube-scheduler runs; restarts: 1") &&
				strings.HasPrefix(f.Remedy, "see `STRATA_HOME='"+p.Home+"' ") && strings.HasSuffix(f.Remedy, " logs kube-scheduler`")
		}), nil
	})
	if err != nil {
		t.Errorf("of a program that was killed doctor says %+v", last)
	}
}

// platform returns doctor's findings about the home.
func platform(t *testing.T, p *stratatest.Platform) []doctor.Finding {
	t.Helper()
	// doctor fails if this machine fails another requirement, but still prints the report.
	out, err := p.Try(t.Context(), "doctor", "-o", "json")
	var report doctor.Report
	if json.Unmarshal(out, &report) != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(report.Findings, func(f doctor.Finding) bool { return f.Check != "platform" })
}
