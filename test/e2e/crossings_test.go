package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Means of an attempt.
const (
	withKubeconfig = "kubeconfig"
	withCommit     = "a commit"
	withGit        = "Git login"
	withGoogle     = "Google identity"
	withStack      = "a Stack of its own"
	withDatabase   = "login to the database"
	withNothing    = "no login at all"
)

// Parts of the platform that deny attempts.
const (
	byRBAC      = "RBAC"
	byGit       = "the Git server"
	byIAM       = "Google's IAM"
	byCloudSQL  = "Cloud SQL, emulated"
	byDatabase  = "the database server"
	bySandbox   = "the sandbox"
	byHops      = "admission, `strata-hops`"
	byStacks    = "admission, `strata-stacks`"
	byPrograms  = "admission, `strata-programs`"
	byNamespace = "the sync, which applies it in the team's own namespace"
)

const (
	shopNamespace = "/api/v1/namespaces/team-shop"
	ofWeb         = "/apis/pulumi.com/v1/namespaces/team-web/"
	shopStacks    = "/apis/pulumi.com/v1/namespaces/team-shop/stacks"
	iamAPI        = "GOOGLE_IAM_CUSTOM_ENDPOINT"
	projectsAPI   = "GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT"
	containerAPI  = "GOOGLE_CONTAINER_CUSTOM_ENDPOINT"
	sqlAPI        = "GOOGLE_SQL_CUSTOM_ENDPOINT"
	instancePath  = "projects/" + home.Project + "/instances/strata"
	shopAccount   = "projects/" + home.Project + "/serviceAccounts/team-shop@" + home.Project + ".iam.gserviceaccount.com"
)

const (
	secretOfWeb  = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs", "namespace": "team-shop"}, "stringData": {"a": "b"}}`
	bindingToWeb = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "mine"},
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "strata:team"},
		"subjects": [{"kind": "ServiceAccount", "namespace": "team-web", "name": "web"}]}`
	sourceOfShop = `{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "theirs"},
		"spec": {"interval": "1m", "url": "SHOP_REPOSITORY"}}`
	syncAsShop = `{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "theirs"},
		"spec": {"interval": "1m", "prune": true, "path": "./", "serviceAccountName": "shop", "targetNamespace": "team-shop",
		"sourceRef": {"kind": "GitRepository", "namespace": "team-shop", "name": "shop"}}}`
	reference = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"resources":
		{"theirs": {"type": "pulumi:pulumi:StackReference", "properties": {"name": "organization/team-shop/dev"}}}}}`
	takenDatabase = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"resources":
		{"theirs": {"type": "gcp:sql:Database", "properties": {"name": "shop_wordpress", "instance": "strata"}}}}}`
	takenUser = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"resources":
		{"theirs": {"type": "gcp:sql:User", "properties": {"name": "shop", "host": "%", "instance": "strata", "password": "taken-over-by-web"}}}}}`
	importedDatabase = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"resources":
		{"theirs": {"type": "gcp:sql:Database", "properties": {"name": "web_orders", "instance": "strata"}, "options": {"import": "shop_wordpress"}}}}}`
	readState    = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"outputs": {"theirs": {"fn::readFile": "SHOP_STATE/.pulumi/meta.yaml"}}}}`
	readEngineer = `{"apiVersion": "pulumi.com/v1", "kind": "Program", "metadata": {"name": "crossing"}, "program": {"outputs": {"theirs": {"fn::readFile": "ENGINEER"}}}}`
)

// stackOf returns a valid Stack of web's with additional fields of its spec, given as JSON.
func stackOf(fields string) string {
	context := func(key string) map[string]any {
		return map[string]any{"type": "Secret", "secret": map[string]any{"name": "strata-context", "key": key}}
	}
	env := map[string]any{}
	for _, key := range []string{"PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"} {
		env[key] = context(key)
	}
	spec := map[string]any{
		"stack": "crossing", "programRef": map[string]any{"name": "crossing"}, "serviceAccountName": "web", "destroyOnFinalize": true, "envRefs": env,
	}
	var other map[string]any
	if err := json.Unmarshal([]byte("{"+fields+"}"), &other); err != nil {
		panic(err)
	}
	if refs, ok := other["envRefs"].(map[string]any); ok {
		maps.Copy(env, refs)
		delete(other, "envRefs")
	}
	maps.Copy(spec, other)
	stack, err := json.Marshal(map[string]any{
		"apiVersion": "pulumi.com/v1", "kind": "Stack", "metadata": map[string]any{"name": "crossing"}, "spec": spec,
	})
	if err != nil {
		panic(err)
	}
	return string(stack)
}

// attempts are web's attempts to reach resources of shop. The platform denies each of them.
var attempts = []attempt{
	{"list its Secrets", withKubeconfig, request("GET", shopNamespace+"/secrets", ""), byRBAC, `cannot list resource "secrets" .*in the namespace "team-shop"`},
	{"read its context", withKubeconfig, request("GET", shopNamespace+"/secrets/strata-context", ""), byRBAC, `cannot get resource "secrets"`},
	{"write a Secret into its namespace", withKubeconfig, request("POST", shopNamespace+"/secrets", secretOfWeb), byRBAC, `cannot create resource "secrets"`},
	{"read its namespace", withKubeconfig, request("GET", shopNamespace, ""), byRBAC, `cannot get resource "namespaces"`},
	{"list the teams", withKubeconfig, request("GET", "/api/v1/namespaces", ""), byRBAC, `cannot list resource "namespaces"`},
	{"read its Stack", withKubeconfig, request("GET", shopStacks+"/wordpress-infra", ""), byRBAC, `cannot get resource "stacks"`},
	{"change its Stack", withKubeconfig, request("PATCH", shopStacks+"/wordpress-infra", `{"spec": {"destroyOnFinalize": false}}`), byRBAC, `cannot patch resource "stacks"`},
	{"delete its Stack", withKubeconfig, request("DELETE", shopStacks+"/wordpress-infra", ""), byRBAC, `cannot delete resource "stacks"`},
	{"create a Stack in its namespace", withKubeconfig, request("POST", shopStacks, stackOf("")), byRBAC, `cannot create resource "stacks"`},
	{"read its TenantPolicy", withKubeconfig, request("GET", "/apis/strata.dev/v1/namespaces/team-shop/tenantpolicies/strata", ""), byRBAC, `cannot get resource "tenantpolicies"`},
	{"read its source", withKubeconfig, request("GET", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-shop/gitrepositories/shop", ""), byRBAC, `cannot get resource "gitrepositories"`},
	{"request a token of its account", withKubeconfig, request("POST", shopNamespace+"/serviceaccounts/shop/token", `{"spec": {}}`), byRBAC, `cannot create resource "serviceaccounts/token"`},
	{"impersonate its account", withKubeconfig, requestAs("system:serviceaccount:team-shop:shop", "GET", shopNamespace+"/secrets"), byRBAC, `system:serviceaccount:team-web:web" cannot impersonate`},
	{"bind a role in its namespace", withKubeconfig, request("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/team-shop/rolebindings", bindingToWeb), byRBAC, `cannot create resource "rolebindings"`},
	{"change one's own TenantPolicy", withKubeconfig, request("PATCH", "/apis/strata.dev/v1/namespaces/team-web/tenantpolicies/strata", `{"spec": {"stackAccounts": ["web", "shop"]}}`), byRBAC, `cannot patch resource "tenantpolicies"`},
	{"write its backend into one's own context", withKubeconfig, request("PATCH", "/api/v1/namespaces/team-web/secrets/strata-context", `{"stringData": {"PULUMI_BACKEND_URL": "file://SHOP_STATE"}}`), byHops, `strata-hops.* belong to the platform: accounts of the team may not change them; ask `},
	{"point one's own source at its repository", withKubeconfig, request("PATCH", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories/web", `{"spec": {"url": "SHOP_REPOSITORY"}}`), byRBAC, `cannot patch resource "gitrepositories"`},
	{"read the operator's records", withKubeconfig, request("GET", "/api/v1/namespaces/pulumi-kubernetes-operator/secrets", ""), byRBAC, `cannot list resource "secrets"`},
	{"run a Stack under its account", withKubeconfig, made("stacks", stackOf(`"serviceAccountName": "shop"`)), byStacks, `spec.serviceAccountName is shop. Stacks of team web may run as web; for others ask `},
	{"run a Stack against its state", withKubeconfig, made("stacks", stackOf(`"backend": "file://SHOP_STATE"`)), byStacks, `spec.backend is set. Stacks of team web take their backend and passphrase from Secret strata-context`},
	{"run a Stack against its state, by the environment", withKubeconfig, made("stacks", stackOf(`"envRefs": {"PULUMI_BACKEND_URL": {"type": "Literal", "literal": {"value": "file://SHOP_STATE"}}}`)), byStacks, `spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL of Secret strata-context`},
	{"run a Stack with its Secrets", withKubeconfig, made("stacks", stackOf(`"envRefs": {"THEIRS": {"type": "Secret", "secret": {"namespace": "team-shop", "name": "sql-auth", "key": "password"}}}`)), byStacks, `spec.envRefs.THEIRS .*refers to another namespace`},
	{"run a Stack from its repository", withKubeconfig, made("stacks", stackOf(`"projectRepo": "SHOP_REPOSITORY", "branch": "main"`)), byStacks, `spec.projectRepo is http.*/shop.git. Stacks of team web may use `},
	{"read its stack by reference", withKubeconfig, made("programs", reference), byPrograms, `resource "theirs" is of type pulumi:pulumi:StackReference. Programs of team web may not read other stacks`},
	{"take over its database", withKubeconfig, made("programs", takenDatabase), byPrograms, `resource "theirs" has the name "shop_wordpress", which only team shop may use`},
	{"take over its user", withKubeconfig, made("programs", takenUser), byPrograms, `resource "theirs" has the name "shop", which only team shop may use`},
	{"import its database", withKubeconfig, made("programs", importedDatabase), byPrograms, `resource "theirs" reads or imports an existing resource`},

	{"run a Stack under its account", withCommit, committed(stackOf(`"serviceAccountName": "shop"`)), byStacks, `strata-stacks.*spec.serviceAccountName is shop`},
	{"run a Stack against its state", withCommit, committed(stackOf(`"backend": "file://SHOP_STATE"`)), byStacks, `strata-stacks.*spec.backend is set`},
	{"read its stack by reference", withCommit, committed(reference), byPrograms, `strata-programs.*pulumi:pulumi:StackReference`},
	{"take over its user", withCommit, committed(takenUser), byPrograms, `strata-programs.*which only team shop may use`},
	{"have Flux fetch its repository", withCommit, committed(sourceOfShop), byRBAC, `system:serviceaccount:team-web:web" cannot .* resource "gitrepositories"`},
	{"have Flux apply under its account", withCommit, committed(syncAsShop), byRBAC, `system:serviceaccount:team-web:web" cannot .* resource "kustomizations"`},
	{"bind a role in its namespace", withCommit, committed(bindingToWeb), byRBAC, `system:serviceaccount:team-web:web" cannot .* resource "rolebindings"`},
	{"write a Secret into its namespace", withCommit, landsAtHome, byNamespace, `it is in team-web`},

	{"read its repository", withGit, gitAs("web", "shop", "ls-remote", "REMOTE"), byGit, `account web may not do this with repository shop`},
	{"push to its repository", withGit, gitAs("web", "shop", "push", "REMOTE", "HEAD:refs/heads/main"), byGit, `account web may not do this with repository shop`},
	{"push to the platform's repository", withGit, gitAs("web", "platform", "push", "REMOTE", "HEAD:refs/heads/main"), byGit, `account web may not do this with repository platform`},
	{"read the fleet repository", withGit, gitAs("web", "fleet", "ls-remote", "REMOTE"), byGit, `account web may not do this with repository fleet`},
	{"log in as its repository's reader", withGit, asReader, byGit, `401 Unauthorized`},

	{"read its account", withGoogle, call("GET", iamAPI, shopAccount, ""), byIAM, `iam.serviceAccounts.get`},
	{"create a key of its account", withGoogle, call("POST", iamAPI, shopAccount+"/keys", "{}"), byIAM, `iam.serviceAccountKeys.create`},
	{"delete its account", withGoogle, call("DELETE", iamAPI, shopAccount, ""), byIAM, `iam.serviceAccounts.delete`},
	{"change who may act as its account", withGoogle, call("POST", iamAPI, shopAccount+":setIamPolicy", `{"policy": {}}`), byIAM, `iam.serviceAccounts.setIamPolicy`},
	{"change the IAM policy of the project", withGoogle, call("POST", projectsAPI, "projects/"+home.Project+":setIamPolicy", `{"policy": {}}`), byIAM, `resourcemanager.projects.setIamPolicy`},
	{"read the cluster", withGoogle, call("GET", containerAPI, "projects/"+home.Project+"/locations/"+home.Region+"/clusters/strata", ""), byIAM, `container.clusters.get`},
	{"create a cluster", withGoogle, call("POST", containerAPI, "projects/"+home.Project+"/locations/"+home.Region+"/clusters", `{"cluster": {"name": "mine", "initialNodeCount": 1}}`), byIAM, `container.clusters.create`},
	{"delete the shared instance", withGoogle, call("DELETE", sqlAPI, instancePath, ""), byIAM, `cloudsql.instances.delete`},
	{"reset the password of its user", withGoogle, call("PUT", sqlAPI, instancePath+"/users?name=shop&host=%25", `{"name": "shop", "host": "%", "password": "taken-over-by-web"}`), byCloudSQL, `user shop_?\w* belongs to team-shop@`},
	{"delete its database", withGoogle, call("DELETE", sqlAPI, instancePath+"/databases/shop_wordpress", ""), byCloudSQL, `database shop_wordpress belongs to team-shop@`},
	{"read and change its database", withDatabase, useShopsDatabase, byDatabase, `denied`},

	{"read the files of its state", withStack, ran("their-state", readState), bySandbox, `no such file`},
	{"read the engineer's credential", withStack, ran("engineer", readEngineer), bySandbox, `no such file`},
}

// possible are the attempts that nothing refuses. "Databases, Git and this machine" in docs/hops.md says why.
var possible = []attempt{
	{"fetch the artifact of its source at a guessed address", withNothing, fetchArtifact, "", ""},
	{"list its databases", withGoogle, call("GET", sqlAPI, instancePath+"/databases/shop_wordpress", ""), "", ""},
}

// landsAtHome commits a Secret whose manifest names shop's namespace.
func landsAtHome(c *crossing) error {
	if err := committed(secretOfWeb)(c); err != nil {
		return err
	}
	if _, err := c.look("/api/v1/namespaces/team-web/secrets/theirs"); err != nil {
		return err
	}
	if _, err := c.look(shopNamespace + "/secrets/theirs"); err == nil {
		return nil
	}
	return fmt.Errorf("%w: it is in team-web", errDenied)
}

// stated executes a statement as the user that web's Stack has created.
func stated(statement string) func(*crossing) error {
	return func(c *crossing) error { return c.query(c.web, "team-web", "", statement) }
}

// useShopsDatabase writes into a database of shop's as the user that web's Stack has created.
func useShopsDatabase(c *crossing) error {
	return c.query(c.web, "team-web", "shop_wordpress", "CREATE TABLE from_web (n INT PRIMARY KEY)")
}

// query executes a statement with the login in the Secret sql-auth of a namespace. database may be empty.
func (c *crossing) query(kubeconfig, namespace, database, statement string) error {
	client, err := clientOf(kubeconfig)
	if err != nil {
		return err
	}
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/api/v1/namespaces/" + namespace + "/secrets/sql-auth").DoRaw(context.Background())
	if err != nil {
		return err
	}
	var auth struct{ Data map[string][]byte }
	if err := json.Unmarshal(raw, &auth); err != nil {
		return err
	}
	config := mysqldriver.NewConfig()
	config.Net, config.Addr = "tcp", string(auth.Data["host"])+":"+string(auth.Data["port"])
	config.User, config.Passwd, config.DBName = string(auth.Data["username"]), string(auth.Data["password"]), database
	connector, err := mysqldriver.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err = db.Exec(statement); err != nil {
		if _, denied := errors.AsType[*mysqldriver.MySQLError](err); denied {
			return fmt.Errorf("%w: %w", errDenied, err)
		}
		return err
	}
	return nil
}

// fetchArtifact fetches Flux's artifact of shop's repository.
func fetchArtifact(c *crossing) error {
	source, err := c.look("/apis/source.toolkit.fluxcd.io/v1/namespaces/team-shop/gitrepositories/shop")
	if err != nil {
		return err
	}
	address, _, _ := unstructured.NestedString(source, "status", "artifact", "url")
	if !strings.HasPrefix(address, "http") {
		return fmt.Errorf("the artifact of shop is at %q", address)
	}
	return answer(http.Get(address)) //nolint:gosec,noctx // the address is the platform's
}
