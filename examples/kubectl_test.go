package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/wait"

	"github.com/strata-platform/strata/test/stratatest"
)

// TestMain makes the test binary kubectl when it is started under that name, so that the page's commands need no kubectl
// of the machine.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		kubectl()
		return
	}
	os.Exit(stratatest.Main(m))
}

// kubectl has the commands of kubectl that the page for app teams uses. Where one fails it ends the process.
func kubectl() {
	flags := genericclioptions.NewConfigFlags(true)
	factory := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags))
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	root := &cobra.Command{Use: "kubectl", SilenceUsage: true}
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(get.NewCmdGet("kubectl", factory, streams), wait.NewCmdWait(flags, streams))
	cmdutil.CheckErr(root.Execute())
}
