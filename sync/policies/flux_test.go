package policies_test

import (
	"fmt"
	"strings"
)

const (
	fromOurs  = ". Sources of team web may use https://git.example.com/web.git, https://git.example.com/shared, oci://ghcr.io/example/apps, https://storage.googleapis.com/example; for others ask the platform team"
	asTeam    = ". Sources of team web must have the provider generic: others fetch under the identity of the controller; ask the platform team"
	andNoMore = " is set. Sources of team web fetch from their address, with the login of their secretRef only; ask the platform team"
	signed    = ". Sources of team web must have spec.verify with mode HEAD and the Secret strata-publisher; ask the platform team"
	asOurs    = ". Syncs of team web apply as web, infra; ask the platform team"
	aPlace    = ", at most 10m is allowed. A waiting sync of team web occupies a worker of Flux; ask the platform team"
	ofFiles   = ". Syncs of team web use components from folders of their source only; ask the platform team"
	inOurs    = ". Syncs of team web use sources and apply objects in team-web only; ask the platform team"
)

// verified are the fields of an OCIRepository that the policy strata-artifacts demands.
const verified = ", ref: {semver: '*'}, verify: {provider: cosign, secretRef: {name: strata-publisher}}"

// artifacts are the sources of the policy strata-artifacts. test/publish has more of them.
var artifacts = map[string]attempt{
	"artifacts of its publishers": {source("OCIRepository", "url: 'oci://ghcr.io/example/apps'"+verified), ""},
	"artifacts of anybody":        {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', ref: {semver: '*'}"), "spec.verify is not set. Sources of the kind OCIRepository in namespace team-web must have the provider cosign"},
}

var sources = map[string]attempt{
	"its repository":          {source("GitRepository", "url: 'https://git.example.com/web.git', secretRef: {name: web}"), ""},
	"a shared one, with .git": {source("GitRepository", "url: 'https://git.example.com/shared.git/', provider: generic"), ""},
	"a shared registry":       {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', provider: generic"+verified), ""},
	"a shared bucket":         {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example"), ""},

	"another's repository":    {source("GitRepository", "url: 'https://git.example.com/api.git'"), "its address is https://git.example.com/api.git" + fromOurs},
	"another protocol":        {source("GitRepository", "url: 'http://git.example.com/web.git'"), "its address is http://git.example.com/web.git" + fromOurs},
	"another registry":        {source("OCIRepository", "url: 'oci://ghcr.io/example/other'"+verified), "its address is oci://ghcr.io/example/other" + fromOurs},
	"another bucket":          {source("Bucket", "endpoint: storage.googleapis.com, bucketName: other"), "its address is https://storage.googleapis.com/other" + fromOurs},
	"a bucket without TLS":    {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, insecure: true"), "its address is http://storage.googleapis.com/example" + fromOurs},
	"a repository of charts":  {source("HelmRepository", "url: 'https://charts.example.com'"), "its address is https://charts.example.com" + fromOurs},
	"the controller's cloud":  {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', provider: gcp"+verified), "spec.provider is gcp" + asTeam},
	"the same for a bucket":   {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, provider: gcp"), "spec.provider is gcp" + asTeam},
	"what a repository names": {source("GitRepository", "url: 'https://git.example.com/web.git', recurseSubmodules: true"), "spec.recurseSubmodules" + andNoMore},
	"by a proxy":              {source("GitRepository", "url: 'https://git.example.com/web.git', proxySecretRef: {name: mine}"), "spec.proxySecretRef" + andNoMore},
	"a login from elsewhere":  {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, sts: {provider: ldap, endpoint: 'https://example.com'}"), "spec.sts" + andNoMore},
	"a long wait":             {source("GitRepository", "url: 'https://git.example.com/web.git', timeout: 60m"), "spec.timeout is 60m, at most 2m is allowed. A waiting source of team web occupies a worker of Flux; ask the platform team"},
	"at all times":            {strings.Replace(source("GitRepository", "url: 'https://git.example.com/web.git'"), "interval: 1m", "interval: 1s", 1), "spec.interval is 1s, at least 10s is allowed. A waiting source of team web occupies a worker of Flux; ask the platform team"},
	"an identity of its own": {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', ref: {semver: '*'}, verify: {provider: cosign, matchOIDCIdentity: [{issuer: '^https://issuer$', subject: '^me$'}]}"),
		"spec.verify.matchOIDCIdentity or its trusted root is set. Sources of team web trust the identity or the keys that the platform team has chosen; ask the platform team"},
	"as an account": {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', serviceAccountName: infra"+verified), "spec.serviceAccountName" + andNoMore},
}

// signedSources and signedStacks are objects of a team whose commits must be signed.
var signedSources = map[string]attempt{
	"signed commits":              {ours("ref: {branch: main}, verify: {mode: HEAD, secretRef: {name: strata-publisher}}"), ""},
	"signed commits with a tag":   {ours("ref: {semver: 1.x}, verify: {mode: TagAndHEAD, secretRef: {name: strata-publisher}}"), ""},
	"artifacts of its publishers": {source("OCIRepository", "url: 'oci://ghcr.io/example/apps'"+verified), ""},

	"commits of anybody":       {ours("ref: {branch: main}"), "spec.verify is not set" + signed},
	"signed tags only":         {ours("ref: {semver: 1.x}, verify: {mode: Tag, secretRef: {name: strata-publisher}}"), "spec.verify.mode is Tag" + signed},
	"keys of its own":          {ours("verify: {mode: HEAD, secretRef: {name: mine}}"), "spec.verify.secretRef.name is mine" + signed},
	"a bucket, without commit": {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example"), "Flux cannot verify it" + signed},
	"another's submodules":     {ours("verify: {mode: HEAD, secretRef: {name: strata-publisher}}, recurseSubmodules: true"), "spec.recurseSubmodules" + andNoMore},
}

// identifiedSources are artifacts of a team whose publisher is an identity.
var identifiedSources = map[string]attempt{
	"the identity":       {identified("^https://issuer$", "^https://a/b\\.yaml@main$", ""), ""},
	"another subject":    {identified("^https://issuer$", "^https://a/c$", ""), notTheIdentity},
	"another issuer":     {identified("^https://other$", "^https://a/b\\.yaml@main$", ""), notTheIdentity},
	"a trusted root":     {identified("^https://issuer$", "^https://a/b\\.yaml@main$", ", trustedRootSecretRef: {name: strata-trusted-root}"), notTheIdentity},
	"the keys of nobody": {source("OCIRepository", "url: 'oci://ghcr.io/example/apps'"+verified), notTheIdentity},
}

const notTheIdentity = "spec.verify.matchOIDCIdentity or its trusted root differs from ^https://a/b\\.yaml@main$ of ^https://issuer$" +
	". Sources of team web trust the identity or the keys that the platform team has chosen; ask the platform team"

// identified returns an OCIRepository that trusts an identity.
func identified(issuer, subject, more string) string {
	return source("OCIRepository", "url: 'oci://ghcr.io/example/apps', ref: {semver: '*'}, verify: {provider: cosign, matchOIDCIdentity: [{issuer: '"+
		issuer+"', subject: '"+subject+"'}]"+more+"}")
}

var signedStacks = map[string]attempt{
	"a verified source": {stack(good + ", fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: web}}"), ""},
	"a commit":          {stack(good + ", projectRepo: 'https://git.example.com/web.git', commit: " + strings.Repeat("0a", 20)), ""},
	"a branch":          {stack(good + ", projectRepo: 'https://git.example.com/web.git', branch: main"), unsignedStack},
	"a branch that is called a commit": {
		stack(good + ", projectRepo: 'https://git.example.com/web.git', commit: main"), unsignedStack,
	},
}

const unsignedStack = "spec.projectRepo is set without the full ID of a commit in spec.commit. Stacks of team web use spec.fluxSource, or a commit, " +
	"because the commits of a branch are not verified; ask the platform team"

// ours returns a source that fetches the team's repository.
func ours(spec string) string {
	return source("GitRepository", "url: 'https://git.example.com/web.git', "+spec)
}

var syncs = map[string]attempt{
	"as the team":       {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), ""},
	"as its other":      {sync("serviceAccountName: infra, sourceRef: {kind: GitRepository, name: web, namespace: team-web}, targetNamespace: team-web"), ""},
	"a chart":           {release("serviceAccountName: web, chart: {spec: {chart: x, sourceRef: {kind: GitRepository, name: web}}}"), ""},
	"a chart of a kind": {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, storageNamespace: team-web"), ""},

	"of parts": {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: [../part, a/b-c.d], timeout: 10m"), ""},

	"a long wait":                 {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, wait: true, timeout: 1h"), "spec.timeout is 1h" + aPlace},
	"a long release":              {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, timeout: 601s"), "spec.timeout is 601s" + aPlace},
	"a long wait by default":      {strings.Replace(sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), "interval: 1m", "interval: 24h", 1), "spec.timeout is not set and defaults to spec.interval, which is 24h" + aPlace},
	"at all times":                {strings.Replace(sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), "interval: 1m", "interval: 100ms", 1), "spec.interval is 100ms, at least 30s is allowed. A waiting sync of team web occupies a worker of Flux; ask the platform team"},
	"again and again":             {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, retryInterval: 1s"), "spec.retryInterval is 1s, at least 5s is allowed. A waiting sync of team web occupies a worker of Flux; ask the platform team"},
	"a part from elsewhere":       {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: [a, 'x@host:a/b']"), "spec.components has x@host:a/b" + ofFiles},
	"a part by its address":       {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: ['https://host/a/b']"), "spec.components has https://host/a/b" + ofFiles},
	"a part of GitHub":            {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: ['GitHub.com/a/b']"), "spec.components has GitHub.com/a/b" + ofFiles},
	"as nobody":                   {sync("sourceRef: {kind: GitRepository, name: web}"), "spec.serviceAccountName is not set" + asOurs},
	"as the account of its Plans": {sync("serviceAccountName: strata-plan, sourceRef: {kind: GitRepository, name: web}"), "spec.serviceAccountName is strata-plan" + asOurs},
	"as the controller":           {sync("serviceAccountName: kustomize-controller, sourceRef: {kind: GitRepository, name: web}"), "spec.serviceAccountName is kustomize-controller" + asOurs},
	"a chart as nobody":           {release("chartRef: {kind: OCIRepository, name: web}"), "spec.serviceAccountName is not set" + asOurs},
	"in another cluster":          {sync("serviceAccountName: web, kubeConfig: {secretRef: {name: mine}}, sourceRef: {kind: GitRepository, name: web}"), "spec.kubeConfig is set. Syncs of team web apply to this cluster only; ask the platform team"},
	"into another's namespace":    {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, targetNamespace: team-api"), "spec.targetNamespace is team-api" + inOurs},
	"from another's source":       {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: platform, namespace: platform}"), "spec.sourceRef.namespace is platform" + inOurs},
	"a chart from another's":      {release("serviceAccountName: web, chart: {spec: {chart: x, sourceRef: {kind: GitRepository, name: x, namespace: platform}}}"), "spec.chart.spec.sourceRef.namespace is platform" + inOurs},
	"a chart into another's":      {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, targetNamespace: team-api"), "spec.targetNamespace is team-api" + inOurs},
	"a release kept by another":   {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, storageNamespace: flux-system"), "spec.storageNamespace is flux-system" + inOurs},
	"another's chart":             {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web, namespace: platform}"), "spec.chartRef.namespace is platform" + inOurs},
}

func source(kind, spec string) string {
	return fmt.Sprintf("{apiVersion: source.toolkit.fluxcd.io/v1, kind: %s, metadata: {name: tried}, spec: {interval: 1m, %s}}", kind, spec)
}

func sync(spec string) string {
	return fmt.Sprintf("{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: tried}, spec: {interval: 1m, prune: true, %s}}", spec)
}

func release(spec string) string {
	return fmt.Sprintf("{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: tried}, spec: {interval: 1m, %s}}", spec)
}
