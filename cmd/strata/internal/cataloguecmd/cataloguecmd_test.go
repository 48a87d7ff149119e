package cataloguecmd_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cataloguecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/lifecycle"
)

// call is a call on a machine without a platform.
type call struct{ cli.Call }

func (call) Platform() (*lifecycle.Platform, error) { return nil, errors.New("nothing runs\x1b[2J") }

func (call) Print(_ io.Writer, _ any, text func() error) error { return text() }

// run calls a command in a repository with a teams.yaml, and returns its output.
func run(t *testing.T, root, offers string, args ...string) (string, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, "teams.yaml"), []byte("apiVersion: strata/v1\nkind: Teams\nteams: []\n"+offers), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	options := cli.Options{
		Out: &out, Err: &out, Bind: func(*cobra.Command, ...string) cli.Call { return call{} }, Root: func() (string, error) { return root, nil },
		Arguments: func(check cobra.PositionalArgs) cobra.PositionalArgs { return check }, Usage: func(err error) error { return err },
		Group: func(parent *cobra.Command, children ...*cobra.Command) *cobra.Command {
			parent.AddCommand(children...)
			return parent
		},
	}
	command := &cobra.Command{Use: "strata", SilenceErrors: true, SilenceUsage: true}
	command.AddCommand(cataloguecmd.New(options), cataloguecmd.Order(options))
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.Execute()
	return out.String(), err
}

const offered = "catalogue: [{name: database, perTeam: 4}]\n"

func TestTheCommandsShowWhatTeamsCanOrder(t *testing.T) {
	for name, test := range map[string]struct {
		offers string
		args   []string
		want   []string
	}{
		"list with an offer":    {offered, []string{"catalogue", "list"}, []string{"database  Database  4 per team  A MySQL database"}},
		"list without an offer": {"", []string{"catalogue", "list"}, []string{"database  Database  no       A MySQL database"}},
		"show": {"", []string{"catalogue", "show", "database"}, []string{
			"Database (databases.catalogue.strata.dev)", "spec.onDelete  keep|delete  keep     What happens", "SECRET NAME-database", "connection  PROJECT:REGION:INSTANCE", "CONFIGMAP NAME-database",
		}},
		"lint":  {offered, []string{"catalogue", "lint"}, []string{"bucket, database: no problems", `not compared with the orders of the platform: nothing runs\x1b[2J`}},
		"order": {offered, []string{"order", "Database", "orders", "--set", "onDelete=delete"}, []string{"kind: Database\nmetadata:\n  name: orders\nspec:\n  onDelete: delete\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, t.TempDir(), test.offers, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output does not contain %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestTheCommandsRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		offers string
		args   []string
		want   string
	}{
		"an order of nothing":             {offered, []string{"order", "Queue", "a"}, `the catalogue has no entry "Queue": its entries are bucket, database`},
		"an order of what is not offered": {"", []string{"order", "Database", "a"}, "this platform does not offer database: ask the platform team to add it to teams.yaml under catalogue"},
		"an order with an unknown field":  {offered, []string{"order", "Database", "a", "--set", "sise=small"}, `a Database has no "sise": it has engine, onDelete, size`},
		"an order without a name":         {offered, []string{"order", "Database"}, "give the kind and a name, such as Database orders"},
		"an entry that is not there":      {offered, []string{"catalogue", "show", "queue"}, `the catalogue has no entry "queue": its entries are bucket, database`},
		"an offer without an entry":       {"catalogue: [{name: queue}]\n", []string{"catalogue", "lint"}, "the catalogue has problems"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, t.TempDir(), test.offers, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, output %s, want %q", err, out, test.want)
			}
		})
	}
}

func TestAnEntryOfTheRepositoryReplacesStratas(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "catalogue", "database")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const own = "apiVersion: strata/v1\nkind: CatalogueEntry\nnames: {kind: Database, plural: databases}\ndescription: Our own.\nspec: {type: object}\n"
	if err := os.WriteFile(filepath.Join(folder, "entry.yaml"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, root, offered, "catalogue", "list"); err != nil || !strings.Contains(out, "Our own.") {
		t.Errorf("error %v, output %s", err, out)
	}
	if out, err := run(t, root, offered, "catalogue", "lint"); err == nil || !strings.Contains(out, "program.yaml") {
		t.Errorf("error %v, output %s, want that the Program is missing", err, out)
	}
}
