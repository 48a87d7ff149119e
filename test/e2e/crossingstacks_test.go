package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ran creates a Program with a name and a Stack that runs it as web, and returns an error if the Stack fails.
func ran(name, program string) func(*crossing) error {
	return func(c *crossing) error { return c.whileReady(name, program, func() error { return nil }) }
}

// whileReady is ran with a function that it calls before it deletes the Stack and the Program.
func (c *crossing) whileReady(name, program string, do func() error) error {
	program = strings.ReplaceAll(program, `"crossing"`, `"`+name+`"`)
	stack := strings.ReplaceAll(stackOf(""), `"crossing"`, `"`+name+`"`)
	defer func() {
		_ = request(http.MethodDelete, ofWeb+"stacks/"+name, "")(c)
		// The platform is ready for the next script when the operator has destroyed the Stack.
		_ = c.eventually(func() (bool, error) {
			_, err := c.look(ofWeb + "stacks/" + name)
			return apierrors.IsNotFound(err), nil
		})
		_ = request(http.MethodDelete, ofWeb+"programs/"+name, "")(c)
	}()
	if err := errors.Join(made("programs", program)(c), made("stacks", stack)(c)); err != nil {
		return err
	}
	if err := c.outcome(name); err != nil {
		return err
	}
	return do()
}

// outcome waits until a Stack of web has succeeded or failed, and returns its failure.
func (c *crossing) outcome(name string) error {
	return c.eventually(func() (bool, error) {
		stack, err := c.look(ofWeb + "stacks/" + name)
		if err != nil {
			return false, err
		}
		if conditionOf(stack, "Ready")["status"] == "True" {
			return true, nil
		}
		for _, kind := range []string{"Stalled", "Reconciling", "Ready"} {
			switch conditionOf(stack, kind)["reason"] {
			case "UpdateFailed", "SpecInvalid", "TypeNotAllowed", "RetryingAfterFailure":
				return true, fmt.Errorf("%w: %v", errDenied, conditionOf(stack, kind)["message"])
			}
		}
		return false, nil
	})
}

// withFirst runs do while a Stack first owns the user web_first.
func (c *crossing) withFirst(do func() error) error {
	return c.whileReady("first", userOf("web_first"), do)
}

// aliased runs a Program that names shop's user as a former name of its own user. Afterwards shop's user still logs in.
func aliased(c *crossing) error {
	const alias = "urn:pulumi:wordpress-infra::wordpress-infra::gcp:sql/user:User::user"
	program := declaring(`{"type": "gcp:sql:User", "properties": {"name": "web_alias", "host": "%", "instance": "strata", "password": "of-web"}, "options": {"aliases": ["` + alias + `"]}}`)
	if err := ran("alias", program)(c); err != nil {
		return err
	}
	if err := c.query(c.admin, "team-shop", "shop_wordpress", "SELECT 1"); err != nil {
		return fmt.Errorf("the user of shop is changed: %w", err)
	}
	return fmt.Errorf("%w: the user of shop logs in as before", errDenied)
}

// inProject pushes a project to web's repository, and runs a Stack with it.
func inProject(project string) func(*crossing) error {
	return func(c *crossing) error {
		folder := filepath.Join(c.repository, "taken")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "Pulumi.yaml"), []byte("name: taken\n"+project), 0o600); err != nil {
			return err
		}
		if out, err := c.git("add", "taken"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		commit, err := c.push("{}")
		if err != nil {
			return err
		}
		err = c.eventually(func() (bool, error) {
			source, err := c.look("/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories/web")
			return strings.Contains(fmt.Sprint(source["status"]), commit), err
		})
		if err != nil {
			return err
		}
		stack := stackOf(`"fluxSource": {"dir": "taken", "sourceRef": {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "web"}}`)
		stack = strings.ReplaceAll(strings.Replace(stack, `"programRef":{"name":"crossing"},`, "", 1), `"crossing"`, `"taken"`)
		defer func() { _ = request(http.MethodDelete, ofWeb+"stacks/taken", "")(c) }()
		if err := made("stacks", stack)(c); err != nil {
			return err
		}
		return c.outcome("taken")
	}
}
