package cloud_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/api/sqladmin/v1beta4"
)

// waitSQL follows an operation until it is done and checks that it succeeded.
func (c *emulator) waitSQL(clients *clients, op *sqladmin.Operation, err error) {
	c.t.Helper()
	for {
		if err != nil {
			c.t.Fatal(err)
		}
		if op.Status == "DONE" {
			break
		}
		if op.Status != "PENDING" && op.Status != "RUNNING" {
			c.t.Fatalf("the operation is %s", op.Status)
		}
		op, err = clients.sql.Operations.Get(projectID, op.Name).Do()
	}
	if op.Error != nil {
		c.t.Fatalf("the operation failed: %+v", op.Error.Errors[0])
	}
}

// newInstance creates the instance "strata" and returns its address.
func (c *emulator) newInstance(clients *clients, settings *sqladmin.Settings) string {
	c.t.Helper()
	settings.Tier = "db-f1-micro"
	op, err := clients.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "strata", Region: "europe-west1", DatabaseVersion: "MYSQL_8_0", Settings: settings,
	}).Do()
	c.waitSQL(clients, op, err)
	return c.address(clients)
}

func (c *emulator) address(clients *clients) string {
	c.t.Helper()
	found, err := clients.sql.Instances.Get(projectID, "strata").Do()
	if err != nil {
		c.t.Fatal(err)
	}
	if found.State != "RUNNABLE" || len(found.IpAddresses) != 1 || found.ConnectionName != "strata-local:europe-west1:strata" {
		c.t.Fatalf("the instance is %+v", found)
	}
	return found.IpAddresses[0].IpAddress
}

// connect opens a connection of a MySQL client. It returns an error if the login fails.
func connect(t *testing.T, address, user, password, database string) (*sql.DB, error) {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = user, password, "tcp", net.JoinHostPort(address, "3306"), database
	config.Logger = &mysql.NopLogger{} // connections break when the test kills a server
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db, db.PingContext(t.Context())
}

// deniedAccess checks that the server refused a login.
func deniedAccess(t *testing.T, err error) {
	t.Helper()
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1045 {
		t.Errorf("login: %v; want access denied (1045)", err)
	}
}

func TestMySQLClientUsesTheDatabasesOfTheAPI(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	if !strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "127.0.") {
		t.Errorf("the instance listens on %s", address)
	}
	const password = `p'a"s\s%20wörd;--`
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "word-press"}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Password: password}).Do()
	c.waitSQL(owner, op, err)

	db, err := connect(t, address, "web", password, "word-press")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE TABLE posts (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(80) NOT NULL)",
		"INSERT INTO posts (title) VALUES ('Hello')",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	_, err = connect(t, address, "web", "wrong", "")
	deniedAccess(t, err)
	_, err = connect(t, address, "somebody", password, "")
	deniedAccess(t, err)
	_, err = connect(t, address, "root", "", "")
	deniedAccess(t, err)

	op, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "another"}).Do()
	c.waitSQL(owner, op, err)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE another.t (id INT)"); err != nil {
		t.Errorf("the user cannot use a later database: %v", err)
	}

	t.Run("the API lists the databases of the server", func(t *testing.T) {
		found, err := owner.sql.Databases.List(projectID, "strata").Do()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, db := range found.Items {
			names = append(names, db.Name)
		}
		if fmt.Sprint(names) != "[another word-press]" {
			t.Errorf("databases are %v", names)
		}
		one, err := owner.sql.Databases.Get(projectID, "strata", "word-press").Do()
		if err != nil || one.Charset != "utf8mb4" || one.Collation != "utf8mb4_0900_ai_ci" {
			t.Errorf("database is %+v, %v", one, err)
		}
		_, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "word-press"}).Do()
		refused(t, err, 400, "failed to create database word-press", "1007")
		_, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "mysql"}).Do()
		refused(t, err, 400, "Incorrect database name")
	})
	t.Run("the API lists the users except the server's own", func(t *testing.T) {
		found, err := owner.sql.Users.List(projectID, "strata").Do()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, user := range found.Items {
			names = append(names, user.Name+"@"+user.Host+user.Password)
		}
		if fmt.Sprint(names) != "[root@% web@%]" {
			t.Errorf("users are %v", names)
		}
	})
	t.Run("a database is deleted", func(t *testing.T) {
		op, err := owner.sql.Databases.Delete(projectID, "strata", "another").Do()
		c.waitSQL(owner, op, err)
		_, err = owner.sql.Databases.Get(projectID, "strata", "another").Do()
		refused(t, err, 404)
	})
	t.Run("a charset is changed", func(t *testing.T) {
		op, err := owner.sql.Databases.Patch(projectID, "strata", "word-press", &sqladmin.Database{Charset: "utf8mb4", Collation: "utf8mb4_bin"}).Do()
		c.waitSQL(owner, op, err)
		one, err := owner.sql.Databases.Get(projectID, "strata", "word-press").Do()
		if err != nil || one.Collation != "utf8mb4_bin" {
			t.Errorf("database is %+v, %v", one, err)
		}
	})
	t.Run("a password is changed", func(t *testing.T) {
		op, err := owner.sql.Users.Update(projectID, "strata", &sqladmin.User{Password: "new"}).Name("web").Host("%").Do()
		c.waitSQL(owner, op, err)
		if _, err := connect(t, address, "web", "new", ""); err != nil {
			t.Errorf("login with the new password: %v", err)
		}
		_, err = connect(t, address, "web", password, "")
		deniedAccess(t, err)
	})
	t.Run("a restart keeps the data", func(t *testing.T) {
		c.restart(true)
		if again := c.address(owner); again != address {
			t.Errorf("the instance listens on %s after the restart, was %s", again, address)
		}
		db, err := connect(t, address, "web", "new", "word-press")
		if err != nil {
			t.Fatal(err)
		}
		var title string
		if err := db.QueryRowContext(t.Context(), "SELECT title FROM posts").Scan(&title); err != nil || title != "Hello" {
			t.Errorf("read %q, %v", title, err)
		}
	})
	t.Run("the server rejects a deleted user", func(t *testing.T) {
		op, err := owner.sql.Users.Delete(projectID, "strata").Name("web").Host("%").Do()
		c.waitSQL(owner, op, err)
		_, err = connect(t, address, "web", "new", "")
		deniedAccess(t, err)
		_, err = owner.sql.Users.Delete(projectID, "strata").Name("web").Host("%").Do()
		refused(t, err, 404, "userDoesNotExist")
	})
}

func TestTheAPISetsThePasswordOfRoot(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "strata", Region: "europe-west1", RootPassword: "first", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	c.waitSQL(owner, op, err)
	address := c.address(owner)
	if _, err := connect(t, address, "root", "first", ""); err != nil {
		t.Errorf("login with the first password: %v", err)
	}
	op, err = owner.sql.Users.Update(projectID, "strata", &sqladmin.User{Password: "second"}).Name("root").Host("%").Do()
	c.waitSQL(owner, op, err)
	db, err := connect(t, address, "root", "second", "")
	if err != nil {
		t.Fatalf("login with the second password: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT * FROM mysql.user"); err == nil {
		t.Error("the API's user root is the server's own user")
	}
	op, err = owner.sql.Users.Delete(projectID, "strata").Name("root").Host("%").Do()
	c.waitSQL(owner, op, err)
	_, err = connect(t, address, "root", "second", "")
	deniedAccess(t, err)
	c.restart(true) // the runtime's root user is a different user
}

func TestDeletionProtection(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	c.newInstance(owner, &sqladmin.Settings{DeletionProtectionEnabled: true, UserLabels: map[string]string{"team": "web"}})
	_, err := owner.sql.Instances.Delete(projectID, "strata").Do()
	refused(t, err, 400, "The instance is protected.", "deletionProtectionEnabled")

	op, err := owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{
		ForceSendFields: []string{"DeletionProtectionEnabled"},
	}}).Do()
	c.waitSQL(owner, op, err)
	found, err := owner.sql.Instances.Get(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	if found.Settings.DeletionProtectionEnabled || found.Settings.Tier != "db-f1-micro" || found.Settings.UserLabels["team"] != "web" || found.Settings.SettingsVersion != 2 {
		t.Errorf("settings after the patch: %+v", found.Settings)
	}
	op, err = owner.sql.Instances.Delete(projectID, "strata").Do()
	c.waitSQL(owner, op, err)
	_, err = owner.sql.Instances.Get(projectID, "strata").Do()
	refused(t, err, 404, "instanceDoesNotExist")
	if _, err := net.Dial("tcp", found.IpAddresses[0].IpAddress+":3306"); err == nil {
		t.Error("the server of the deleted instance still responds")
	}
}

func TestInvalidInstancesAreRejected(t *testing.T) {
	c := newEmulator(t, true)
	instances := c.owner().sql.Instances
	c.newInstance(c.owner(), &sqladmin.Settings{})
	tier := &sqladmin.Settings{Tier: "db-f1-micro"}
	for name, test := range map[string]struct {
		instance *sqladmin.DatabaseInstance
		code     int
		want     string
	}{
		"name with a path":         {&sqladmin.DatabaseInstance{Name: "../other", Settings: tier}, 400, "name"},
		"no tier":                  {&sqladmin.DatabaseInstance{Name: "second"}, 400, "tier"},
		"unsupported engine":       {&sqladmin.DatabaseInstance{Name: "second", DatabaseVersion: "SQLSERVER_2022_WEB", Settings: tier}, 400, "not emulated"},
		"unknown region":           {&sqladmin.DatabaseInstance{Name: "second", Region: "moon", Settings: tier}, 400, "Invalid value for region"},
		"replica":                  {&sqladmin.DatabaseInstance{Name: "second", MasterInstanceName: "strata", Settings: tier}, 400, "masterInstanceName is not emulated"},
		"key of KMS":               {&sqladmin.DatabaseInstance{Name: "second", DiskEncryptionConfiguration: &sqladmin.DiskEncryptionConfiguration{KmsKeyName: "k"}, Settings: tier}, 400, "diskEncryptionConfiguration is not emulated"},
		"TLS only":                 {&sqladmin.DatabaseInstance{Name: "second", Settings: &sqladmin.Settings{Tier: "x", IpConfiguration: &sqladmin.IpConfiguration{Ipv4Enabled: true, SslMode: "ENCRYPTED_ONLY"}}}, 400, "without TLS"},
		"no address":               {&sqladmin.DatabaseInstance{Name: "second", Settings: &sqladmin.Settings{Tier: "x", IpConfiguration: &sqladmin.IpConfiguration{}}}, 400, "At least one of Public IP or Private IP"},
		"name of another instance": {&sqladmin.DatabaseInstance{Name: "strata", Settings: tier}, 409, "instanceAlreadyExists"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instances.Insert(projectID, test.instance).Do()
			refused(t, err, test.code, test.want)
		})
	}
	_, err := instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{SettingsVersion: 7}}).Do()
	refused(t, err, 412, "staleData")
	_, err = instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Region: "us-east1"}).Do()
	refused(t, err, 400, "cannot be changed")
}

// TestDatabaseUserCannotLeaveTheDatabase tries statements that would give a database user the privileges of root, or
// access to the files of the machine.
func TestDatabaseUserCannotLeaveTheDatabase(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "web"}).Do()
	c.waitSQL(owner, op, err)
	for _, name := range []string{"web", "other"} {
		op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: name, Password: name}).Do()
		c.waitSQL(owner, op, err)
	}
	secret := filepath.Join(c.dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(c.dir, "written")
	read := func() {
		t.Helper()
		db, err := connect(t, address, "web", "web", "web")
		if err != nil {
			t.Fatal(err)
		}
		var content sql.NullString
		if err := db.QueryRowContext(t.Context(), "SELECT LOAD_FILE(?)", secret).Scan(&content); err == nil && content.Valid {
			t.Errorf("the user has read a file of the machine: %q", content.String)
		}
	}
	db, err := connect(t, address, "web", "web", "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"SELECT * FROM mysql.user",
		"UPDATE mysql.user SET Super_priv = 'Y'",
		"INSERT INTO mysql.db (Host, Db, User) VALUES ('%', 'mysql', 'web')",
		"ALTER USER 'root'@'" + address + "' IDENTIFIED BY 'taken'",
		"ALTER USER 'other'@'%' IDENTIFIED BY 'taken'",
		"CREATE USER 'third'@'%'",
		"DROP USER 'root'@'" + address + "'",
		"GRANT ALL ON *.* TO 'web'@'%'",
		"SET GLOBAL secure_file_priv = ''",
		"SET SESSION secure_file_priv = ''",
		"CALL dolt_backup('sync-url', 'file://" + written + "')",
		"CALL dolt_clone('file://" + c.dir + "', 'copy')",
		"SELECT 1 INTO OUTFILE '" + written + "'",
		"SELECT 1 INTO DUMPFILE '" + written + "'",
		"LOAD DATA INFILE '" + secret + "' INTO TABLE web.t",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s: the statement succeeded", statement)
		}
	}
	if _, err := os.Stat(written); err == nil {
		t.Error("the user has written a file of the machine")
	}
	read()
	// A setting persisted for the next start must not open the files either.
	_, _ = db.ExecContext(t.Context(), "SET PERSIST_ONLY secure_file_priv = ''")
	_, _ = db.ExecContext(t.Context(), "SET PERSIST secure_file_priv = ''")
	c.restart(true)
	read()
}
