package policies_test

import (
	"fmt"
	"strings"
)

const (
	fromOurs  = ". Sources of team web may take https://git.example.com/web.git, https://git.example.com/shared, oci://ghcr.io/example/apps, https://storage.googleapis.com/example; for others ask the platform team"
	asTeam    = ". Sources of team web are fetched with what the team has, provider generic, and not as the controller; ask the platform team"
	andNoMore = " is set. Sources of team web are fetched from their address, with their secretRef and no more; ask the platform team"
	asOurs    = ". What team web has is applied as web, infra; ask the platform team"
	aPlace    = ", at most 10m is allowed. What a sync of team web waits for holds a place of Flux; ask the platform team"
	ofFiles   = ". What team web has is built out of files of its source; ask the platform team"
	inOurs    = ". What team web has is taken from and applied in team-web; ask the platform team"
)

var sources = map[string]attempt{
	"its repository":          {source("GitRepository", "url: 'https://git.example.com/web.git', secretRef: {name: web}"), ""},
	"a shared one, with .git": {source("GitRepository", "url: 'https://git.example.com/shared.git/', provider: generic"), ""},
	"a shared registry":       {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', provider: generic"), ""},
	"a shared bucket":         {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example"), ""},

	"another's repository":    {source("GitRepository", "url: 'https://git.example.com/api.git'"), "it is taken from https://git.example.com/api.git" + fromOurs},
	"another protocol":        {source("GitRepository", "url: 'http://git.example.com/web.git'"), "it is taken from http://git.example.com/web.git" + fromOurs},
	"another registry":        {source("OCIRepository", "url: 'oci://ghcr.io/example/other'"), "it is taken from oci://ghcr.io/example/other" + fromOurs},
	"another bucket":          {source("Bucket", "endpoint: storage.googleapis.com, bucketName: other"), "it is taken from https://storage.googleapis.com/other" + fromOurs},
	"a bucket without TLS":    {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, insecure: true"), "it is taken from http://storage.googleapis.com/example" + fromOurs},
	"a repository of charts":  {source("HelmRepository", "url: 'https://charts.example.com'"), "it is taken from https://charts.example.com" + fromOurs},
	"the controller's cloud":  {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', provider: gcp"), "spec.provider is gcp" + asTeam},
	"the same for a bucket":   {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, provider: gcp"), "spec.provider is gcp" + asTeam},
	"what a repository names": {source("GitRepository", "url: 'https://git.example.com/web.git', recurseSubmodules: true"), "spec.recurseSubmodules" + andNoMore},
	"by a proxy":              {source("GitRepository", "url: 'https://git.example.com/web.git', proxySecretRef: {name: mine}"), "spec.proxySecretRef" + andNoMore},
	"a login from elsewhere":  {source("Bucket", "endpoint: storage.googleapis.com, bucketName: example, sts: {provider: ldap, endpoint: 'https://example.com'}"), "spec.sts" + andNoMore},
	"a long wait":             {source("GitRepository", "url: 'https://git.example.com/web.git', timeout: 60m"), "spec.timeout is 60m, at most 2m is allowed. What a source of team web waits for holds a place of Flux; ask the platform team"},
	"at all times":            {strings.Replace(source("GitRepository", "url: 'https://git.example.com/web.git'"), "interval: 1m", "interval: 1s", 1), "spec.interval is 1s, at least 10s is allowed. What a source of team web waits for holds a place of Flux; ask the platform team"},
	"as an account":           {source("OCIRepository", "url: 'oci://ghcr.io/example/apps', serviceAccountName: infra"), "spec.serviceAccountName" + andNoMore},
}

var syncs = map[string]attempt{
	"as the team":       {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), ""},
	"as its other":      {sync("serviceAccountName: infra, sourceRef: {kind: GitRepository, name: web, namespace: team-web}, targetNamespace: team-web"), ""},
	"a chart":           {release("serviceAccountName: web, chart: {spec: {chart: x, sourceRef: {kind: GitRepository, name: web}}}"), ""},
	"a chart of a kind": {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, storageNamespace: team-web"), ""},

	"of parts": {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: [../part, a/b-c.d], timeout: 10m"), ""},

	"a long wait":               {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, wait: true, timeout: 1h"), "spec.timeout is 1h" + aPlace},
	"a long release":            {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, timeout: 601s"), "spec.timeout is 601s" + aPlace},
	"a long wait by default":    {strings.Replace(sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), "interval: 1m", "interval: 24h", 1), "spec.timeout is not set, and spec.interval in its place is 24h" + aPlace},
	"at all times":              {strings.Replace(sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}"), "interval: 1m", "interval: 100ms", 1), "spec.interval is 100ms, at least 30s is allowed. What a sync of team web waits for holds a place of Flux; ask the platform team"},
	"again and again":           {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, retryInterval: 1s"), "spec.retryInterval is 1s, at least 5s is allowed. What a sync of team web waits for holds a place of Flux; ask the platform team"},
	"a part from elsewhere":     {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: [a, 'x@host:a/b']"), "spec.components has x@host:a/b" + ofFiles},
	"a part by its address":     {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: ['https://host/a/b']"), "spec.components has https://host/a/b" + ofFiles},
	"a part of GitHub":          {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, components: ['GitHub.com/a/b']"), "spec.components has GitHub.com/a/b" + ofFiles},
	"as nobody":                 {sync("sourceRef: {kind: GitRepository, name: web}"), "spec.serviceAccountName is not set" + asOurs},
	"as the controller":         {sync("serviceAccountName: kustomize-controller, sourceRef: {kind: GitRepository, name: web}"), "spec.serviceAccountName is kustomize-controller" + asOurs},
	"a chart as nobody":         {release("chartRef: {kind: OCIRepository, name: web}"), "spec.serviceAccountName is not set" + asOurs},
	"in another cluster":        {sync("serviceAccountName: web, kubeConfig: {secretRef: {name: mine}}, sourceRef: {kind: GitRepository, name: web}"), "spec.kubeConfig is set. What team web has is applied in this cluster; ask the platform team"},
	"into another's namespace":  {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: web}, targetNamespace: team-api"), "spec.targetNamespace is team-api" + inOurs},
	"from another's source":     {sync("serviceAccountName: web, sourceRef: {kind: GitRepository, name: platform, namespace: platform}"), "spec.sourceRef.namespace is platform" + inOurs},
	"a chart from another's":    {release("serviceAccountName: web, chart: {spec: {chart: x, sourceRef: {kind: GitRepository, name: x, namespace: platform}}}"), "spec.chart.spec.sourceRef.namespace is platform" + inOurs},
	"a chart into another's":    {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, targetNamespace: team-api"), "spec.targetNamespace is team-api" + inOurs},
	"a release kept by another": {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web}, storageNamespace: flux-system"), "spec.storageNamespace is flux-system" + inOurs},
	"another's chart":           {release("serviceAccountName: web, chartRef: {kind: OCIRepository, name: web, namespace: platform}"), "spec.chartRef.namespace is platform" + inOurs},
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
