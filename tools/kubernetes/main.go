// Command kubernetes is kube-apiserver, kube-controller-manager or kube-scheduler, by the name of its file.
//
// One program for all three takes less time to build, and less memory when all three run: they share the pages of
// Kubernetes' libraries.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	_ "time/tzdata" // for CronJobs with a time zone

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the log format json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests to the API server
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version as a metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	command, ok := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is not a program of Kubernetes: name the file kube-apiserver, kube-controller-manager or kube-scheduler\n", name)
		os.Exit(2)
	}
	runtime.MemProfileRate = 0 // nobody profiles these programs, and the profile's buckets take 3 MB in each
	go collect()
	os.Exit(cli.Run(command()))
}
