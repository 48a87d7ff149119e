package policies_test

import (
	"fmt"
	"strings"
)

// good are the fields that every Stack of the team needs.
const good = "stack: dev, programRef: {name: x}, serviceAccountName: web, envRefs: {" + fromContext + "}"

const fromContext = "PULUMI_BACKEND_URL: {type: Secret, secret: {name: strata-context, key: PULUMI_BACKEND_URL}}, " +
	"PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: strata-context, key: PULUMI_CONFIG_PASSPHRASE}}"

const (
	ofName      = ". Stacks of team web must have names of at most 100 letters, digits, -, _ and ., and no - or . at the beginning; ask the platform team"
	asWeb       = ". Stacks of team web may run as web; for others ask the platform team"
	fromSecret  = " of Secret strata-context. Stacks of team web take their backend and passphrase from there; ask the platform team"
	noOtherWay  = " is set. Stacks of team web take their backend and passphrase from Secret strata-context by spec.envRefs only; ask the platform team"
	notOurs     = " is not the platform's. Stacks of team web encrypt their secrets with the passphrase of Secret strata-context; ask the platform team"
	inNamespace = " is not of type Secret or Literal, or refers to another namespace. Stacks of team web may refer to objects in team-web; for others ask the platform team"
	ofTemplate  = " changes the account or the source of the Stack. Stacks of team web may set env, image, imagePullPolicy, pulumiLogLevel and resources there; for others ask the platform team"
	ofMetadata  = " is set. Stacks of team web may set labels and annotations there; ask the platform team"
	ofPulumi    = " is set. Stacks of team web may set only PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE of the variables of Pulumi; for others ask the platform team"
	noPlugins   = " is set. Stacks of team web may not set an address to download plugins from; ask the platform team"
	ofUpdate    = " names another stack or workspace. Stacks of team web update themselves; ask the platform team"
	ofSources   = ". Stacks of team web may use https://git.example.com/web.git, https://git.example.com/shared, oci://ghcr.io/example/apps, https://storage.googleapis.com/example; for others ask the platform team"
	ofApproval  = "metadata.annotations.strata.dev/approval is not always. Stacks of team web may only demand an approval of every change; ask the platform team for less"
	ofKinds     = ". Stacks of team web may use a GitRepository, OCIRepository or Bucket of source.toolkit.fluxcd.io; for others ask the platform team"
)

var stacks = map[string]attempt{
	"as the team":           {stack(good), ""},
	"with more variables":   {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", A: {type: Literal, literal: {value: x}}, B: {type: Secret, secret: {name: mine, key: b, namespace: team-web}}}"), ""},
	"with all sorts":        {stack(good + ", config: {a: [1]}, configRef: {b: {name: x, key: y1}}, secrets: {c: d}, secretsRef: {e: {type: Literal, literal: {value: f}}}, secretsProvider: passphrase, prerequisites: [{name: other}], destroyOnFinalize: true, refresh: true"), ""},
	"out of its source":     {stack(good + ", fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: web}, dir: infra}"), ""},
	"out of its repository": {stack(good + ", projectRepo: 'https://git.example.com/web.git', branch: main, gitAuthSecret: mine"), ""},
	"without .git":          {stack(good + ", projectRepo: 'https://git.example.com/web/'"), ""},
	"with .git":             {stack(good + ", projectRepo: 'https://git.example.com/shared.git', gitAuth: {basicAuth: {userName: {type: Literal, literal: {value: x}}, password: {type: Secret, secret: {name: mine, key: password}}}}"), ""},
	"a harmless template":   {stack(good + ", workspaceTemplate: {metadata: {labels: {a: b}}, spec: {serviceAccountName: web, image: 'pulumi/pulumi:3', env: [{name: TZ, value: UTC}], resources: {requests: {cpu: 100m}}}}, updateTemplate: {metadata: {annotations: {a: b}}, spec: {stackName: dev, parallel: 4}}"), ""},

	"named by an organization": {stack(strings.Replace(good, "dev", "organization/web/dev", 1)), ""},
	"which demands approval":   {annotated("strata.dev/approval: always"), ""},
	"which demands it wrongly": {annotated("strata.dev/approval: Always"), ofApproval},
	"which demands nothing":    {annotated("strata.dev/approval: never"), ofApproval},
	"named like an option":     {stack(strings.Replace(good, "dev", "--help", 1)), `spec.stack is "--help"` + ofName},
	"named like a folder":      {stack(strings.Replace(good, "dev", "..", 1)), `spec.stack is ".."` + ofName},
	"named by a path":          {stack(strings.Replace(good, "dev", "a/../../b", 1)), `spec.stack is "a/../../b"` + ofName},
	"named by two lines":       {stack(strings.Replace(good, "dev", `"dev\n--remove"`, 1)), "spec.stack is not printable ASCII" + ofName},

	"as nobody":                   {stack("stack: dev, envRefs: {" + fromContext + "}"), "spec.serviceAccountName is not set" + asWeb},
	"as the default":              {stack("stack: dev, serviceAccountName: default, envRefs: {" + fromContext + "}"), "spec.serviceAccountName is default" + asWeb},
	"as the account of its Plans": {stack("stack: dev, serviceAccountName: strata-plan, envRefs: {" + fromContext + "}"), "spec.serviceAccountName is strata-plan" + asWeb},
	"as its other":                {stack("stack: dev, serviceAccountName: infra, envRefs: {" + fromContext + "}"), "spec.serviceAccountName is infra" + asWeb},
	"with no context":             {stack("stack: dev, serviceAccountName: web"), "spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret},
	"with a backend as text": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_BACKEND_URL: {type: Literal, literal: {value: 'file:///'}}}"),
		"spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret},
	"with a passphrase of its own": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: mine, key: PULUMI_CONFIG_PASSPHRASE}}}"),
		"spec.envRefs.PULUMI_CONFIG_PASSPHRASE is not key PULUMI_CONFIG_PASSPHRASE" + fromSecret},
	"with another key": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: strata-context, key: GOOGLE_PROJECT}}}"),
		"spec.envRefs.PULUMI_CONFIG_PASSPHRASE is not key PULUMI_CONFIG_PASSPHRASE" + fromSecret},
	"a backend":               {stack(good + ", backend: 'gs://other'"), "spec.backend" + noOtherWay},
	"a token":                 {stack(good + ", accessTokenSecret: mine"), "spec.accessTokenSecret" + noOtherWay},
	"another key for state":   {stack(good + ", secretsProvider: 'gcpkms://x'"), "spec.secretsProvider" + notOurs},
	"another passphrase":      {stack(good + ", secretsProvider: default"), "spec.secretsProvider" + notOurs},
	"an environment":          {stack(good + ", environment: [x]"), "spec.environment" + noOtherWay},
	"ConfigMaps of variables": {stack(good + ", envs: [x]"), "spec.envs" + noOtherWay},
	"Secrets of variables":    {stack(good + ", envSecrets: [x]"), "spec.envSecrets" + noOtherWay},
	"a token as a variable": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_ACCESS_TOKEN: {type: Literal, literal: {value: x}}}"),
		"spec.envRefs.PULUMI_ACCESS_TOKEN" + ofPulumi},
	"a passphrase in a file": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_CONFIG_PASSPHRASE_FILE: {type: Literal, literal: {value: x}}}"),
		"spec.envRefs.PULUMI_CONFIG_PASSPHRASE_FILE" + ofPulumi},
	"plugins from elsewhere": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES: {type: Literal, literal: {value: '.*=https://example.com'}}}"),
		"spec.envRefs.PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES" + ofPulumi},
	"a plugin by config":      {stack(good + ", config: {a: 1, 'random:pluginDownloadURL': 'https://example.com'}"), "spec.config.random:pluginDownloadURL" + noPlugins},
	"a plugin by a ConfigMap": {stack(good + ", configRef: {'random:PluginDownloadURL': {name: x, key: y1}}"), "spec.configRef.random:PluginDownloadURL" + noPlugins},
	"a plugin by a secret":    {stack(good + ", secrets: {'random:pluginDownloadURL': 'https://example.com'}"), "spec.secrets.random:pluginDownloadURL" + noPlugins},
	"a plugin by a Secret":    {stack(good + ", secretsRef: {'random:pluginDownloadUrl': {type: Literal, literal: {value: x}}}"), "spec.secretsRef.random:pluginDownloadUrl" + noPlugins},
	"another's Secret": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", A: {type: Secret, secret: {name: strata-context, key: a, namespace: team-api}}}"),
		"spec.envRefs.A" + inNamespace},
	"the operator's environment": {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", A: {type: Env, env: {name: HOME}}}"), "spec.envRefs.A" + inNamespace},
	"the operator's files":       {stack(good + ", secretsRef: {a: {type: FS, filesystem: {path: /etc/passwd}}}"), "spec.secretsRef.a" + inNamespace},
	"another's secret config":    {stack(good + ", secretsRef: {a: {type: Secret, secret: {name: x, key: a, namespace: flux-system}}}"), "spec.secretsRef.a" + inNamespace},
	"another's login": {stack(good + ", projectRepo: 'https://git.example.com/web.git', gitAuth: {basicAuth: {userName: {type: Literal, literal: {value: x}}, password: {type: Secret, secret: {name: x, key: a, namespace: flux-system}}}}"),
		"spec.gitAuth" + inNamespace},
	"the operator's key":     {stack(good + ", projectRepo: 'https://git.example.com/web.git', gitAuth: {sshAuth: {sshPrivateKey: {type: FS, filesystem: {path: /key}}}}"), "spec.gitAuth" + inNamespace},
	"another's repository":   {stack(good + ", projectRepo: 'https://git.example.com/api.git'"), "spec.projectRepo is https://git.example.com/api.git" + ofSources},
	"one that begins so":     {stack(good + ", projectRepo: 'https://git.example.com/web.git/../api.git'"), "spec.projectRepo is https://git.example.com/web.git/../api.git" + ofSources},
	"a login in the address": {stack(good + ", projectRepo: 'https://x:y@git.example.com/web.git'"), "spec.projectRepo is https://x:y@git.example.com/web.git" + ofSources},
	"a source of no kind": {stack(good + ", fluxSource: {sourceRef: {apiVersion: v1, kind: Secret, name: web}}"),
		"spec.fluxSource.sourceRef is a Secret of v1" + ofKinds},
	"a pod as another":         {template("serviceAccountName: infra"), "spec.workspaceTemplate.spec.serviceAccountName" + ofTemplate},
	"a pod with more rights":   {template("securityProfile: baseline"), "spec.workspaceTemplate.spec.securityProfile" + ofTemplate},
	"a pod of its own":         {template("podTemplate: {spec: {hostNetwork: true, containers: []}}"), "spec.workspaceTemplate.spec.podTemplate" + ofTemplate},
	"a service of its own":     {template("serviceTemplate: {metadata: {labels: {a: b}}}"), "spec.workspaceTemplate.spec.serviceTemplate" + ofTemplate},
	"variables out of Secrets": {template("envFrom: [{secretRef: {name: mine}}]"), "spec.workspaceTemplate.spec.envFrom" + ofTemplate},
	"a backend for the pod":    {template("env: [{name: TZ, value: UTC}, {name: PULUMI_BACKEND_URL, value: 'file:///'}]"), "spec.workspaceTemplate.spec.env" + ofTemplate},
	"a repository for the pod": {template("git: {url: 'https://x'}"), "spec.workspaceTemplate.spec.git" + ofTemplate},
	"an archive for the pod":   {template("flux: {url: 'https://x'}"), "spec.workspaceTemplate.spec.flux" + ofTemplate},
	"a folder for the pod":     {template("local: {dir: /}"), "spec.workspaceTemplate.spec.local" + ofTemplate},
	"stacks for the pod":       {template("stacks: [{name: x}]"), "spec.workspaceTemplate.spec.stacks" + ofTemplate},
	"another stack":            {stack(good + ", updateTemplate: {spec: {stackName: prod}}"), "spec.updateTemplate.spec.stackName" + ofUpdate},
	"another workspace":        {stack(good + ", updateTemplate: {spec: {workspaceName: other}}"), "spec.updateTemplate.spec.workspaceName" + ofUpdate},
	"another namespace":        {stack(good + ", updateTemplate: {metadata: {namespace: team-api}}"), "spec.updateTemplate.metadata.namespace" + ofMetadata},
	"another's workspace":      {stack(good + ", workspaceTemplate: {metadata: {labels: {a: b}, namespace: team-api, name: shop}}"), "spec.workspaceTemplate.metadata.name" + ofMetadata},
	"a workspace elsewhere":    {stack(good + ", workspaceTemplate: {metadata: {namespace: team-api}}"), "spec.workspaceTemplate.metadata.namespace" + ofMetadata},
	"a workspace that stays":   {stack(good + ", workspaceTemplate: {metadata: {finalizers: [example.com/stay]}}"), "spec.workspaceTemplate.metadata.finalizers" + ofMetadata},
	"a workspace of another": {stack(good + ", workspaceTemplate: {metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: u1}]}}"),
		"spec.workspaceTemplate.metadata.ownerReferences" + ofMetadata},
	"an update of another name": {stack(good + ", updateTemplate: {metadata: {generateName: x}}"), "spec.updateTemplate.metadata.generateName" + ofMetadata},
}

func template(spec string) string { return stack(good + ", workspaceTemplate: {spec: {" + spec + "}}") }

func annotated(annotation string) string {
	return strings.Replace(stack(good), "metadata: {", "metadata: {annotations: {"+annotation+"}, ", 1)
}

func stack(spec string) string {
	return fmt.Sprintf("{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: tried}, spec: {%s}}", spec)
}
