package cataloguecmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/teamfiles"
	"github.com/strata-platform/strata/internal/terminal"
)

// Order returns the command order.
func Order(options cli.Options) *cobra.Command {
	o := commands{options}
	command := &cobra.Command{
		Use: "order KIND NAME", Short: "Write an order of the catalogue as YAML, for a team's repository",
		Long: `Write an order of the catalogue as YAML, for a team's repository. The command checks the fields against the entry's schema, and
needs no running platform. strata catalogue show lists the fields and the keys of the results.

On a terminal, and without --set, the command asks for each field. With --commit it writes the file NAME-KIND.yaml into a clone of the
team's repository, adds it to kustomization.yaml, and commits both; then push.`,
		Example: `  strata order Database orders
  strata order Database orders --set onDelete=delete
  strata order Database orders --commit ../shop`,
		Args: o.Arguments(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("strata order: give the kind and a name, such as Database orders")
			}
			return nil
		}),
	}
	command.ValidArgsFunction = complete.One(o.kinds)
	set := command.Flags().StringToString("set", nil, "a field of the order and its value, such as onDelete=delete; repeatable")
	complete.Flag(command, "set", complete.Nothing)
	folder := command.Flags().String("commit", "", "folder of a clone of the team's repository, which contains kustomization.yaml")
	complete.Flag(command, "commit", complete.Files)
	command.RunE = func(command *cobra.Command, args []string) error {
		entry, err := o.orderable(args[0])
		if err != nil {
			return err
		}
		values := *set
		if len(values) == 0 && terminal.Typed(o.In) && terminal.Screen(o.Out) != nil {
			if values, err = ask(o.In, o.Err, entry); err != nil {
				return err
			}
		}
		text, err := entry.Order(args[1], values)
		if err != nil {
			return o.Usage(err)
		}
		if *folder == "" {
			_, err = o.Out.Write(text)
			return err
		}
		return o.commit(command.Context(), *folder, entry, args[1], text)
	}
	return command
}

// orderable returns the entry of a kind, if teams.yaml offers it.
func (o commands) orderable(kind string) (*catalogue.Entry, error) {
	all, err := o.open()
	if err != nil {
		return nil, err
	}
	entry, err := all.find(kind)
	if err != nil {
		return nil, o.Usage(err)
	}
	if _, is := all.offered[entry.Name]; !is {
		return nil, fmt.Errorf("this platform does not offer %s: ask the platform team to add it to teams.yaml under catalogue", entry.Name)
	}
	return entry, nil
}

// commit commits an order to a clone of the team's repository.
func (o commands) commit(ctx context.Context, folder string, entry *catalogue.Entry, name string, text []byte) error {
	file := name + "-" + entry.Name + ".yaml"
	commit, err := teamfiles.Commit(ctx, folder, file, text, fmt.Sprintf("Order %s %s", entry.Name, name))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "committed %s and kustomization.yaml as %.8s in %s: push it with `git push`, or with `git push -o wait` to see the result\n", file, commit, folder)
	return err
}

// ask asks for each field of an order, until the answer is a value of the field. An empty answer keeps the default.
func ask(in io.Reader, out io.Writer, entry *catalogue.Entry) (map[string]string, error) {
	answers, values := bufio.NewScanner(in), map[string]string{}
	for _, field := range entry.Fields() {
		if _, err := fmt.Fprintf(out, "%s: %s\n", line(field.Name), line(field.Description)); err != nil {
			return nil, err
		}
		for {
			fmt.Fprintf(out, "  %s [%s]: ", line(field.Values), line(field.Default))
			if !answers.Scan() {
				return nil, errors.Join(errors.New("the input ended before the order was complete: give the fields with --set"), answers.Err())
			}
			answer := strings.TrimSpace(answers.Text())
			if answer == "" {
				break
			}
			problem := entry.Problem(field.Name, answer)
			if problem == "" {
				values[field.Name] = answer
				break
			}
			fmt.Fprintf(out, "  %s %s\n", line(answer), problem)
		}
	}
	return values, nil
}
