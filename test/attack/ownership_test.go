package attack

import (
	"context"
	"database/sql"
	"fmt"

	mysqldriver "github.com/go-sql-driver/mysql"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const databaseBody = `  configuration: {instance: {type: String}}
  resources:
    database: {type: "gcp:sql:Database", properties: {name: %q, instance: "${instance}"}}`

const userBody = `  configuration: {instance: {type: String}}
  resources:
    user: {type: "gcp:sql:User", properties: {name: %q, host: "%%", instance: "${instance}", password: "mine-Mine-1"}}`

// declared runs a Program that declares a database or a user with a name. It replaces victims by the name of team web's.
func declared(body, name string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error {
		if name == victims {
			d, err := f.web.database(ctx)
			if err != nil {
				return err
			}
			name = d.DBName
			if body == userBody {
				name = d.User
			}
		}
		return f.mallory.try(ctx, fmt.Sprintf(body, name), "")
	}
}

// victims is a placeholder for the name of team web's database or user.
const victims = "NAME"

func ownershipAttacks() []attack {
	const owned = `team web|begin with mallory_|belongs to|mallory_|Incorrect database name`
	declare := func(what, body, name string) attack {
		return attack{name: what, class: ownership, as: byRun, do: declared(body, name), says: owned, unharmed: victimsDatabaseIsThere}
	}
	return []attack{
		declare("take the other team's user", userBody, victims),
		declare("take the other team's database", databaseBody, victims),
		declare("take a name that the other team may want", databaseBody, "web_next"),
		declare("take the other team's own name", userBody, "web"),
		declare("take a name in capitals", databaseBody, "WEB_next"),
		declare("take a name that begins like one's own", databaseBody, "malloryx_next"),
		declare("take a name of the server's", databaseBody, "mysql"),
		declare("take the server's administrator", userBody, "root"),
	}
}

// database returns the login to the database that team web's Program has created.
func (t *team) database(ctx context.Context) (*mysqldriver.Config, error) {
	secret, err := t.client.Resource(secrets).Namespace(t.namespace).Get(ctx, "sql-auth", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	value := func(key string) string { return decoded(secret, key) }
	config := mysqldriver.NewConfig()
	config.Net, config.Addr = "tcp", value("host")+":"+value("port")
	config.User, config.Passwd, config.DBName = value("username"), value("password"), value("database")
	return config, nil
}

// query runs a SQL statement in a team's database, with the team's login.
func (t *team) query(ctx context.Context, statement string) error {
	config, err := t.database(ctx)
	if err != nil {
		return err
	}
	connector, err := mysqldriver.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func victimsDatabaseIsThere(ctx context.Context, f *field) error {
	if err := f.web.query(ctx, "CREATE TABLE IF NOT EXISTS attacked (n INT PRIMARY KEY)"); err != nil {
		return fmt.Errorf("team web's login to its database: %w", err)
	}
	return nil
}

// decoded returns a value of a Secret in plain text.
func decoded(secret *unstructured.Unstructured, key string) string {
	text, _, _ := unstructured.NestedString(secret.Object, "data", key)
	return fromBase64(text)
}
