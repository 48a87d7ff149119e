package cloud_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

func settingsOf(t *testing.T, clients *clients) *sqladmin.Settings {
	t.Helper()
	found, err := clients.sql.Instances.Get(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	return found.Settings
}

func TestUpdateReplacesTheSettings(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	c.newInstance(owner, &sqladmin.Settings{UserLabels: map[string]string{"team": "web"}, DataDiskSizeGb: 50})
	update := func(settings *sqladmin.Settings) error {
		op, err := owner.sql.Instances.Update(projectID, "strata", &sqladmin.DatabaseInstance{Settings: settings}).Do()
		if err == nil {
			c.waitSQL(owner, op, err)
		}
		return err
	}
	refused(t, update(&sqladmin.Settings{Tier: "db-f1-micro"}), 400, "settings.settingsVersion")
	refused(t, update(&sqladmin.Settings{Tier: "db-f1-micro", SettingsVersion: 7}), 412, "staleData")
	refused(t, update(&sqladmin.Settings{SettingsVersion: 1}), 400, "settings.tier")
	if err := update(&sqladmin.Settings{Tier: "db-g1-small", SettingsVersion: 1}); err != nil {
		t.Fatal(err)
	}
	if now := settingsOf(t, owner); now.Tier != "db-g1-small" || now.UserLabels != nil || now.DataDiskSizeGb != 10 || now.SettingsVersion != 2 {
		t.Errorf("settings after the update: %+v", now)
	}
	refused(t, update(&sqladmin.Settings{Tier: "db-f1-micro", SettingsVersion: 1}), 412, "staleData")

	op, err := owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{
		UserLabels: map[string]string{"a": "1", "b": "2"}, IpConfiguration: &sqladmin.IpConfiguration{PrivateNetwork: "projects/p/global/networks/n"},
	}}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{UserLabels: map[string]string{"b": "2"}, NullFields: []string{"UserLabels.a"}}}).Do()
	c.waitSQL(owner, op, err)
	found, err := owner.sql.Instances.Get(projectID, "strata").Do()
	if err != nil || len(found.Settings.UserLabels) != 1 || found.Settings.UserLabels["b"] != "2" || len(found.IpAddresses) != 2 ||
		found.IpAddresses[1].Type != "PRIVATE" || found.IpAddresses[0].IpAddress != found.IpAddresses[1].IpAddress {
		t.Errorf("instance after the patches: %+v, %v", found, err)
	}
}

func TestActivationPolicyNever(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "web"}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Password: "web"}).Do()
	c.waitSQL(owner, op, err)
	activate := func(policy string) {
		t.Helper()
		op, err := owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{ActivationPolicy: policy}}).Do()
		c.waitSQL(owner, op, err)
	}
	activate("NEVER")
	for range 2 { // also after a restart of the emulator
		if _, err := connect(t, address, "web", "web", "web"); err == nil {
			t.Error("the server still responds")
		}
		_, err = owner.sql.Databases.List(projectID, "strata").Do()
		refused(t, err, 400, "instance is not running")
		_, err = owner.sql.Instances.Restart(projectID, "strata").Do()
		refused(t, err, 400, "instance is not running")
		c.restart(true)
	}
	activate("ALWAYS")
	if _, err := connect(t, address, "web", "web", "web"); err != nil {
		t.Errorf("log in with activation policy ALWAYS: %v", err)
	}
}

func TestRestartKeepsTheData(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "web"}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Password: "web"}).Do()
	c.waitSQL(owner, op, err)
	db, err := connect(t, address, "web", "web", "web")
	if err != nil {
		t.Fatal(err)
	}
	began := c.doltOf(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	op, err = owner.sql.Instances.Restart(projectID, "strata").Do()
	if err != nil || op.Status != "PENDING" || op.OperationType != "RESTART" {
		t.Errorf("operation is %+v, %v", op, err)
	}
	c.waitSQL(owner, op, err)
	if c.doltOf(t) == began {
		t.Error("the server was not restarted")
	}
	if db, err = connect(t, address, "web", "web", "web"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// heldRuntime runs no server. It blocks each start until held is closed, and then returns an error.
type heldRuntime struct{ held chan struct{} }

func (h *heldRuntime) Start(ctx context.Context, _ string) (engine.Server, error) {
	select {
	case <-h.held:
	case <-ctx.Done():
	}
	return nil, errors.New("out of memory")
}
func (h *heldRuntime) Stop(string) error                   { return nil }
func (h *heldRuntime) Erase(context.Context, string) error { return nil }

func TestInstanceIsBusyUntilItsOperationEnds(t *testing.T) {
	c := newEmulator(t, false)
	runtime := &heldRuntime{held: make(chan struct{})}
	c.databases = runtime
	c.restart(false)
	owner := c.owner()
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{Name: "strata", Settings: &sqladmin.Settings{Tier: "db-f1-micro"}}).Do()
	if err != nil || op.Status != "PENDING" {
		t.Fatalf("operation is %+v, %v", op, err)
	}
	for name, call := range map[string]func() error{
		"delete": func() error { _, err := owner.sql.Instances.Delete(projectID, "strata").Do(); return err },
		"patch": func() error {
			_, err := owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{}).Do()
			return err
		},
		"restart":   func() error { _, err := owner.sql.Instances.Restart(projectID, "strata").Do(); return err },
		"databases": func() error { _, err := owner.sql.Databases.List(projectID, "strata").Do(); return err },
		"user": func() error {
			_, err := owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web"}).Do()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, call(), 409, "operationInProgress") })
	}
	close(runtime.held)
	waitFor(t, "the operation has ended", func() error {
		op, err = owner.sql.Operations.Get(projectID, op.Name).Do()
		if err == nil && op.Status != "DONE" {
			err = errors.New(op.Status)
		}
		return err
	})
	found, err := owner.sql.Instances.Get(projectID, "strata").Do()
	if err != nil || found.State != "FAILED" || op.Error == nil || op.Error.Errors[0].Message != "out of memory" {
		t.Errorf("instance is %+v, operation %+v, %v", found, op, err)
	}
	op, err = owner.sql.Instances.Delete(projectID, "strata").Do()
	c.waitSQL(owner, op, err)
}

// TestCreationResumesWithItsPassword closes the emulator during an acknowledged creation.
func TestCreationResumesWithItsPassword(t *testing.T) {
	c := newEmulator(t, false)
	c.databases = &heldRuntime{held: make(chan struct{})} // the test never closes it
	c.restart(false)
	op, err := c.owner().sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "strata", Region: "europe-west1", RootPassword: "open sesame", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.restart(true)
	owner := c.owner()
	c.waitSQL(owner, op, nil)
	if _, err := connect(t, c.address(owner), "root", "open sesame", ""); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(c.dir, "store.db"))
	if err != nil || strings.Contains(string(data), "open sesame") {
		t.Errorf("the store contains the password: %v", err)
	}
}

func TestUsersWithSeveralHosts(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	_, err := connect(t, address, "root", "", "")
	deniedAccess(t, err)
	for host, password := range map[string]string{"%": "any", "10.1.2.3": "ten"} {
		op, err := owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Host: host, Password: password}).Do()
		c.waitSQL(owner, op, err)
	}
	_, err = owner.sql.Users.Update(projectID, "strata", &sqladmin.User{Password: "x"}).Name("web").Do()
	refused(t, err, 400, "more than one user web")
	_, err = connect(t, address, "web", "ten", "")
	deniedAccess(t, err)
	op, err := owner.sql.Users.Update(projectID, "strata", &sqladmin.User{Password: "other"}).Name("web").Host("10.1.2.3").Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Delete(projectID, "strata").Name("web").Host("10.1.2.3").Do()
	c.waitSQL(owner, op, err)
	if _, err := connect(t, address, "web", "any", ""); err != nil {
		t.Errorf("log in from any host: %v", err)
	}
	found, err := owner.sql.Users.Get(projectID, "strata", "web").Host("%").Do()
	if err != nil || found.Host != "%" {
		t.Errorf("user is %+v, %v", found, err)
	}
	for name, user := range map[string]*sqladmin.User{
		"users of the type CLOUD_IAM_USER":          {Name: "web", Type: "CLOUD_IAM_USER"},
		"passwordPolicy is not emulated":            {Name: "web", PasswordPolicy: &sqladmin.UserPasswordValidationPolicy{}},
		"host " + address + " belong to the server": {Name: "root", Host: address},
		"host 127.0.0.1 belong to the server":       {Name: "web", Host: "127.0.0.1"},
		"1 to 32 characters":                        {Name: strings.Repeat("x", 33)},
	} {
		_, err := owner.sql.Users.Insert(projectID, "strata", user).Do()
		refused(t, err, 400, name)
	}
}
