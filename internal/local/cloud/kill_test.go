package cloud_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	long.Test(t)
	const project = "projects/" + projectID
	var token string
	var client *storage.Service
	account := func(k *clients, id string) (string, error) {
		made, err := k.iam.Projects.ServiceAccounts.Create(project, &iam.CreateServiceAccountRequest{AccountId: id}).Do()
		if err != nil {
			return "", err
		}
		return made.Name, nil
	}
	c := killAmidWrites(t, "",
		func(c *emulator) {
			op, err := c.owner().container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{
				Cluster: &container.Cluster{Name: "strata", InitialNodeCount: 1},
			}).Do()
			if err != nil {
				t.Fatal(err)
			}
			c.waitCluster(c.owner(), op)
			client = c.storageAs(c.engineer)
			c.newBucket(client, "strata-kept")
			_, key := c.account("team-web", "roles/browser")
			token = c.token(key)
		},
		writer{"service account", account, func(k *clients, name string) error {
			_, err := k.iam.Projects.ServiceAccounts.Get(name).Do()
			return err
		}},
		writer{
			"key",
			func(k *clients, name string) (string, error) {
				name, err := account(k, "key-"+name)
				if err != nil {
					return "", err
				}
				made, err := k.iam.Projects.ServiceAccounts.Keys.Create(name, &iam.CreateServiceAccountKeyRequest{}).Do()
				if err != nil {
					return "", err
				}
				file, err := base64.StdEncoding.DecodeString(made.PrivateKeyData)
				return string(file), err
			},
			func(_ *clients, file string) error {
				_, err := login(t, []byte(file))
				return err
			},
		},
		writer{
			"role",
			func(k *clients, name string) (string, error) {
				made, err := k.iam.Projects.Roles.Create(project, &iam.CreateRoleRequest{RoleId: strings.ReplaceAll(name, "-", "_")}).Do()
				if err != nil {
					return "", err
				}
				return made.Name, nil
			},
			func(k *clients, name string) error { _, err := k.iam.Projects.Roles.Get(name).Do(); return err },
		},
		writer{
			"member",
			func(k *clients, name string) (string, error) {
				member := "user:" + name + "@example.com"
				return member, addMember(k.projects, member, "roles/browser")
			},
			func(k *clients, member string) error {
				policy, err := getPolicy(k.projects, 3)
				if err == nil && !holds(policy, "roles/browser", member) {
					return errors.New("is not in the policy")
				}
				return err
			},
		},
		writer{
			"enabled API",
			func(k *clients, name string) (string, error) {
				name = project + "/services/" + name + ".googleapis.com"
				_, err := k.services.Services.Enable(name, &serviceusage.EnableServiceRequest{}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				found, err := k.services.Services.Get(name).Do()
				if err == nil && found.State != "ENABLED" {
					return errors.New(found.State)
				}
				return err
			},
		},
		writer{
			"node pool",
			func(k *clients, name string) (string, error) {
				_, err := k.container.Projects.Locations.Clusters.NodePools.Create(parent+"/clusters/strata", &container.CreateNodePoolRequest{
					NodePool: &container.NodePool{Name: name, InitialNodeCount: 1},
				}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				_, err := k.container.Projects.Locations.Clusters.NodePools.Get(parent + "/clusters/strata/nodePools/" + name).Do()
				return err
			},
		},
		writer{
			"bucket",
			func(_ *clients, name string) (string, error) {
				_, err := client.Buckets.Insert(projectID, &storage.Bucket{Name: name}).Do()
				return name, err
			},
			func(_ *clients, name string) error { _, err := client.Buckets.Get(name).Do(); return err },
		},
		writer{
			"object",
			func(_ *clients, name string) (string, error) {
				_, err := client.Objects.Insert("strata-kept", &storage.Object{Name: name}).Media(strings.NewReader(name)).Do()
				return name, err
			},
			func(_ *clients, name string) error {
				answer, err := client.Objects.Get("strata-kept", name).Download()
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				data, err := io.ReadAll(answer.Body)
				if err == nil && string(data) != name {
					return fmt.Errorf("has the content %q", data)
				}
				return err
			},
		},
	)
	if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusOK {
		t.Errorf("the response to a token from before the kill is %d %s", status, body)
	}
}

func TestKillLosesNoDatabase(t *testing.T) {
	var host string
	c := killAmidWrites(t, toolchaintest.Path(t, "dolt"),
		func(c *emulator) { host = c.newInstance(c.owner(), &sqladmin.Settings{}) },
		writer{
			"user",
			func(k *clients, name string) (string, error) {
				_, err := k.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: name, Password: name}).Do()
				return name, err
			},
			func(_ *clients, name string) error { _, err := connect(t, host, name, name, ""); return err },
		},
		writer{
			"database",
			func(k *clients, name string) (string, error) {
				_, err := k.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: name}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				_, err := k.sql.Databases.Get(projectID, "strata", name).Do()
				return err
			},
		},
	)
	if again := c.address(c.owner()); again != host {
		t.Errorf("the instance listens on %s, was %s", again, host)
	}
}
