package e2e

import "strings"

const (
	withProject  = "a project in Git"
	byState      = "the state of the team, which has no such resource"
	byOperator   = "the embedded operator"
	byPlugin     = "the embedded operator and the plugin `gcp`"
	shopPrograms = "/apis/pulumi.com/v1/namespaces/team-shop/programs"
)

// declaring returns a Program with one resource, and with further fields, given as JSON.
func declaring(resource string, fields ...string) string {
	return `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {` +
		strings.Join(append(fields, `"resources": {"theirs": `+resource+`}`), ", ") + `}}`
}

// naming returns a Program whose name of a database or user is known only when it runs. It ends in end.
func naming(kind, end string) string {
	return `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"resources": {
		"named": {"type": "kubernetes:core/v1:ConfigMap", "properties": {"metadata": {"name": "crossing"}, "data": {"end": "` + end + `"}}},
		"theirs": {"type": "gcp:sql:` + kind + `", "properties": {"name": "web_${named.data.end}", "instance": "strata"}}}}}`
}

// userOf returns a Program with a user.
func userOf(name string) string {
	return declaring(`{"type": "gcp:sql:User", "properties": {"name": "` + name + `", "host": "%", "instance": "strata", "password": "of-the-first"}}`)
}

// takeovers are further attempts of web to change, import, delete or drop the databases and users of shop. The platform denies
// each of them.
var takeovers = []attempt{
	{"change the Program that creates them", withKubeconfig, request("PATCH", shopPrograms+"/wordpress-infra", `{"program": {"resources": null}}`), byRBAC, `cannot patch resource "programs"`},
	{"delete the Program that creates them", withKubeconfig, request("DELETE", shopPrograms+"/wordpress-infra", ""), byRBAC, `cannot delete resource "programs"`},
	{"take over its user, with the type in capitals", withKubeconfig, made("programs", strings.Replace(takenUser, "gcp:sql:User", "GCP:sql/user:USER", 1)), byPrograms, `resource "theirs" is of type GCP:sql/user:USER`},
	{"take over its database, with its name in capitals", withKubeconfig, made("programs", strings.Replace(takenDatabase, "shop_wordpress", "SHOP_wordpress", 1)), byPrograms, `has the name "SHOP_wordpress", which only team SHOP may use`},
	{"take over its database by a component", withKubeconfig, made("programs", strings.Replace(takenDatabase, "gcp:sql:Database", "strata:index:Database", 1)), byPrograms, `resource "theirs" is of type strata:index:Database`},
	{"take over its user, with a name from the config", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:User", "properties": {"name": "${who}", "instance": "strata"}}`, `"configuration": {"who": {"type": "String", "default": "shop"}}`)), byPrograms, `begins with a value that is known only at run time`},
	{"take over its user, with a name from a function", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:User", "properties": {"name": {"fn::join": ["", ["sh", "op"]]}, "instance": "strata"}}`)), byPrograms, `resource "theirs" has no plain-text name`},
	{"import its user", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:User", "properties": {"name": "web_orders", "instance": "strata"}, "options": {"import": "strata-local/strata/%/shop"}}`)), byPrograms, `resource "theirs" reads or imports an existing resource`},
	{"get its user by its ID", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:User", "properties": {"name": "web_orders"}, "get": {"id": "shop/%/strata"}}`)), byPrograms, `resource "theirs" reads or imports an existing resource`},
	{"declare a provider of one's own", withKubeconfig, made("programs", declaring(`{"type": "pulumi:providers:gcp"}`)), byPrograms, `may not read other stacks or declare providers`},
	{"name a provider in the options", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:Database", "properties": {"name": "web_orders", "instance": "strata"}, "options": {"provider": "${mine}"}}`)), byPrograms, `resource "theirs" names a provider in its options`},
	{"load a plugin of one's own", withKubeconfig, made("programs", declaring(`{"type": "gcp:sql:Database", "properties": {"name": "web_orders", "instance": "strata"}}`, `"packages": {"gcp": "https://example.com/gcp"}`)), byPrograms, `package "gcp" comes from https://example.com/gcp`},
	{"read its stack by a function", withKubeconfig, made("programs", declaring(`{"type": "random:RandomPassword", "properties": {"length": 8, "keepers": {"a": {"fn::stackReference": "organization/wordpress-infra/wordpress-infra"}}}}`)), byPrograms, `a value contains fn::stackReference`},
	{"take over its database", withCommit, committed(takenDatabase), byPrograms, `strata-programs.*which only team shop may use`},
	{"import its database", withCommit, committed(importedDatabase), byPrograms, `strata-programs.*reads or imports an existing resource`},
	{"take over its user", withProject, inProject("runtime: yaml\nresources: {theirs: {type: gcp:sql:User, properties: {name: shop, instance: strata}}}\n"), byOperator, `resource "theirs" has the name "shop", which only team shop may use`},
	{"import its user", withProject, inProject("runtime: yaml\nresources: {theirs: {type: gcp:sql:User, properties: {name: web_a, instance: strata}, options: {import: a/strata/%/shop}}}\n"), byOperator, `resource "theirs" reads or imports an existing resource`},
	{"load a plugin of one's own", withProject, inProject("runtime: yaml\nresources: {theirs: {type: gcp:sql:User, properties: {name: web_a, instance: strata}, options: {pluginDownloadURL: 'https://example.com'}}}\n"), byOperator, `pluginDownloadURL is set`},
	{"run a program in Go, whose names nobody can read", withProject, inProject("runtime: go\n"), byOperator, `runtime "go" of project "taken" is not installed here`},
	{"overwrite the Secret with its login", withStack, ran("their-secret", declaring(`{"type": "kubernetes:core/v1:Secret", "properties": {"metadata": {"name": "sql-auth", "namespace": "team-shop"}, "stringData": {"a": "b"}}}`)), byRBAC, `resource "secrets" in API group "" in the namespace "team-shop"`},
	{"adopt its user by an alias", withStack, aliased, byState, `logs in as before`},
	{"create its user again", withGoogle, call("POST", sqlAPI, instancePath+"/users", `{"name": "shop", "host": "%", "password": "taken-over-by-web"}`), byCloudSQL, `user shop belongs to team-shop@`},
	{"create its user again for another host", withGoogle, call("POST", sqlAPI, instancePath+"/users", `{"name": "Shop", "host": "10.0.0.1", "password": "taken-over-by-web"}`), byCloudSQL, `user Shop belongs to team-shop@`},
	{"delete its user", withGoogle, call("DELETE", sqlAPI, instancePath+"/users?name=shop&host=%25", ""), byCloudSQL, `user shop belongs to team-shop@`},
	{"create its database again", withGoogle, call("POST", sqlAPI, instancePath+"/databases", `{"name": "shop_wordpress"}`), byCloudSQL, `database shop_wordpress belongs to team-shop@`},
	{"change its database", withGoogle, call("PATCH", sqlAPI, instancePath+"/databases/shop_wordpress", `{"charset": "utf8mb4"}`), byCloudSQL, `database shop_wordpress belongs to team-shop@`},
	{"drop its database", withDatabase, stated("DROP DATABASE shop_wordpress"), byDatabase, `denied`},
	{"grant oneself its database", withDatabase, stated("GRANT ALL ON shop_wordpress.* TO 'web'@'%'"), byDatabase, `denied`},
	{"change the password of its user", withDatabase, stated("ALTER USER 'shop'@'%' IDENTIFIED BY 'taken-over-by-web'"), byDatabase, `denied`},
	{"drop its user", withDatabase, stated("DROP USER 'shop'@'%'"), byDatabase, `denied`},
}

// seconds are attempts of a second Stack of web to own a database or a user of its Stacks wordpress-infra and first.
var seconds = []attempt{
	{"its user", withStack, ran("second-user", userOf("web")), byOperator, `resource "theirs" is the user web of instance strata, and Stack wordpress-infra owns it`},
	{"its user, with the name in capitals and on an instance that only the run knows", withStack, ran("second-host", declaring(`{"type": "gcp:sql:User", "properties": {"name": "web_FIRST", "instance": "${at}"}}`, `"variables": {"at": {"fn::join": ["", ["strata"]]}}`)), byOperator, `is the user web_first, and Stack first owns it`},
	{"its database", withStack, ran("second-database", declaring(`{"type": "gcp:sql:Database", "properties": {"name": "web_wordpress", "instance": "${platform:instance}"}}`)), byOperator, `is the database web_wordpress.*, and Stack wordpress-infra owns it`},
	{"its user, with a name that only the run knows", withStack, ran("second-run", naming("User", "first")), byPlugin, `this is the user web_first of instance strata, and Stack first owns it`},
	{"its database, with a name that only the run knows", withStack, ran("second-name", naming("Database", "wordpress")), byPlugin, `this is the database web_wordpress of instance strata, and Stack wordpress-infra owns it`},
}
