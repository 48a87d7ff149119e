package fluxcd

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	repository = pulumi.String("https://git.example.com/web.git")
	artifact   = pulumi.String("oci://registry.example.com/team/web")
	text       = pulumi.String("x")
	hidden     = pulumi.String(canary)
)

func TestNewSourceFetchesItsOrigin(t *testing.T) {
	git, oci, bucket := "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", "kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository", "kubernetes:source.toolkit.fluxcd.io/v1:Bucket"
	named := func(name string) map[string]any { return map[string]any{"name": name} }
	for name, test := range map[string]struct {
		origin  Origin
		child   string
		kind    string
		spec    map[string]any
		secrets map[string]map[string]any
	}{
		"a public repository": {
			origin: Git{URL: repository},
			child:  "web-repository", kind: git,
			spec: map[string]any{"url": string(repository), "ref": map[string]any{"branch": "main"}},
		},
		"a repository with a password": {
			origin: Git{URL: repository, Commit: text, Username: text, Password: hidden, TLS: &TLS{CA: text}, SparseCheckout: []string{"deploy"}},
			child:  "web-repository", kind: git,
			spec: map[string]any{
				"url": string(repository), "ref": map[string]any{"commit": "x"}, "secretRef": named("web"), "sparseCheckout": []any{"deploy"},
			},
			secrets: map[string]map[string]any{"web-credentials": {"username": "x", "password": canary, "ca.crt": "x"}},
		},
		"a repository with a bearer token": {
			origin: Git{URL: repository, BearerToken: hidden},
			child:  "web-repository", kind: git,
			spec:    map[string]any{"url": string(repository), "ref": map[string]any{"branch": "main"}, "secretRef": named("web")},
			secrets: map[string]map[string]any{"web-credentials": {"bearerToken": canary}},
		},
		"a repository over ssh, its tag signed": {
			origin: Git{
				URL: pulumi.String("ssh://git@git.example.com/web.git"), SemVer: pulumi.String(">=1.0.0"), PrivateKey: hidden, KnownHosts: text,
				Verify: &GitVerification{Mode: VerifyTag, Keys: map[string]pulumi.StringInput{"ann.sshpub": text, "bob.asc": text}},
			},
			child: "web-repository", kind: git,
			spec: map[string]any{
				"url": "ssh://git@git.example.com/web.git", "ref": map[string]any{"semver": ">=1.0.0"}, "secretRef": named("web"),
				"verify": map[string]any{"mode": "Tag", "secretRef": named("web-keys")},
			},
			secrets: map[string]map[string]any{
				"web-credentials": {"identity": canary, "known_hosts": "x"}, "web-keys": {"ann.sshpub": "x", "bob.asc": "x"},
			},
		},
		"a repository with Secrets that are there": {
			origin: Git{URL: repository, Branch: text, SecretName: pulumi.String("login"), Verify: &GitVerification{SecretName: pulumi.String("keys")}},
			child:  "web-repository", kind: git,
			spec: map[string]any{
				"url": string(repository), "ref": map[string]any{"branch": "x"}, "secretRef": named("login"),
				"verify": map[string]any{"mode": "HEAD", "secretRef": named("keys")},
			},
		},
		"an artifact signed with a key": {
			origin: OCI{
				URL: artifact, Tag: text, Username: text, Password: hidden, TLS: &TLS{Certificate: text, Key: hidden},
				Verify: &OCIVerification{Keys: map[string]pulumi.StringInput{"release.pub": text}},
			},
			child: "web-repository", kind: oci,
			spec: map[string]any{
				"url": string(artifact), "ref": map[string]any{"tag": "x"}, "provider": "generic", "secretRef": named("web"),
				"certSecretRef": named("web-tls"), "verify": map[string]any{"provider": "cosign", "secretRef": named("web-keys")},
			},
			secrets: map[string]map[string]any{
				"web-credentials": {".dockerconfigjson": `{"auths":{"registry.example.com":{"password":"` + canary + `","username":"x"}}}`},
				"web-tls":         {"tls.crt": "x", "tls.key": canary},
				"web-keys":        {"release.pub": "x"},
			},
		},
		"an artifact signed without a key": {
			origin: OCI{URL: artifact, Digest: text, Provider: "gcp", ServiceAccount: text, Verify: &OCIVerification{
				Identities: []OIDCIdentity{{Issuer: "^https://issuer$", Subject: "^me$"}}, TrustedRootSecret: text,
			}},
			child: "web-repository", kind: oci,
			spec: map[string]any{
				"url": string(artifact), "ref": map[string]any{"digest": "x"}, "provider": "gcp", "serviceAccountName": "x",
				"verify": map[string]any{
					"provider": "cosign", "trustedRootSecretRef": named("x"),
					"matchOIDCIdentity": []any{map[string]any{"issuer": "^https://issuer$", "subject": "^me$"}},
				},
			},
		},
		"an artifact signed with notation": {
			origin: OCI{URL: artifact, Insecure: true, MediaType: text, SecretName: text, Verify: &OCIVerification{
				Provider: Notation, Keys: map[string]pulumi.StringInput{"ca.crt": text, "trustpolicy.json": text},
			}},
			child: "web-repository", kind: oci,
			spec: map[string]any{
				"url": string(artifact), "provider": "generic", "insecure": true, "secretRef": named("x"),
				"layerSelector": map[string]any{"mediaType": "x", "operation": "extract"},
				"verify":        map[string]any{"provider": "notation", "secretRef": named("web-keys")},
			},
			secrets: map[string]map[string]any{"web-keys": {"ca.crt": "x", "trustpolicy.json": "x"}},
		},
		"a bucket with a key": {
			origin: Bucket{
				Name: pulumi.String("web"), Endpoint: pulumi.String("s3.example.com"), Region: text, Prefix: text, AccessKey: text, SecretKey: hidden,
				TLS: &TLS{CA: text},
			},
			child: "web-bucket", kind: bucket,
			spec: map[string]any{
				"bucketName": "web", "endpoint": "s3.example.com", "provider": "generic", "region": "x", "prefix": "x",
				"secretRef": named("web"), "certSecretRef": named("web-tls"),
			},
			secrets: map[string]map[string]any{"web-credentials": {"accesskey": "x", "secretkey": canary}, "web-tls": {"ca.crt": "x"}},
		},
		"a bucket of gcp with a workload identity": {
			origin: Bucket{Name: pulumi.String("web"), Endpoint: pulumi.String("storage.googleapis.com"), Provider: "gcp", ServiceAccount: text},
			child:  "web-bucket", kind: bucket,
			spec: map[string]any{
				"bucketName": "web", "endpoint": "storage.googleapis.com", "provider": "gcp", "serviceAccountName": "x",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
				_, err := NewSource(ctx, "web", &SourceArgs{
					Namespace: team, Origin: test.origin, Timeout: pulumi.String("20s"), Ignore: pulumi.String("*.md"), ProxySecret: pulumi.String("proxy"),
				}, cluster)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			graph := map[string]string{"web": sourceType, test.child: test.kind + " in web"}
			for secret, data := range test.secrets {
				graph[secret] = secretType + " in web"
				assertDependsOn(t, got[test.child], secret)
				assertDeletedInTheBackground(t, got[secret])
				if found := plain(got[secret].Inputs)["stringData"]; !reflect.DeepEqual(found, any(data)) {
					t.Errorf("%s holds %v, want %v", secret, found, data)
				}
			}
			assertGraph(t, got, graph)
			assertDeletedInTheBackground(t, got[test.child])
			assertNotShown(t, got)
			want := map[string]any{"interval": "1m", "timeout": "20s", "ignore": "*.md", "proxySecretRef": named("proxy")}
			maps.Copy(want, test.spec)
			if spec := plain(got[test.child].Inputs)["spec"]; !reflect.DeepEqual(spec, any(want)) {
				t.Errorf("spec is\n%v, want\n%v", shown(spec), shown(want))
			}
		})
	}
}

func shown(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestNewSourceRefuses(t *testing.T) {
	keys := func(name string) map[string]pulumi.StringInput { return map[string]pulumi.StringInput{name: text} }
	bucket := func(change func(*Bucket)) Bucket {
		b := Bucket{Name: text, Endpoint: text}
		change(&b)
		return b
	}
	for name, test := range map[string]struct {
		origin Origin
		want   string
	}{
		"nothing to fetch":         {nil, "Origin must be given: Git, OCI or Bucket"},
		"Git without an address":   {Git{}, "Git.URL must be given"},
		"two references":           {Git{URL: repository, Branch: text, Tag: text}, "only one of Git.Branch, Git.Tag"},
		"half a password":          {Git{URL: repository, Username: text}, "Git.Username and Git.Password must be given together"},
		"a key for any host":       {Git{URL: repository, PrivateKey: hidden}, "Git.PrivateKey and Git.KnownHosts must be given together"},
		"two logins":               {Git{URL: repository, Username: text, Password: hidden, BearerToken: hidden}, "only one of Git.Password, Git.BearerToken and Git.PrivateKey"},
		"a login twice":            {Git{URL: repository, BearerToken: hidden, SecretName: text}, "Git.SecretName excludes other credentials"},
		"an empty TLS":             {Git{URL: repository, TLS: &TLS{}}, "TLS must have a CA, or a Certificate with its Key"},
		"half a certificate":       {Git{URL: repository, TLS: &TLS{Certificate: text}}, "TLS.Certificate and TLS.Key must be given together"},
		"TLS over ssh":             {Git{URL: repository, PrivateKey: hidden, KnownHosts: text, TLS: &TLS{CA: text}}, "Git.TLS is for https, Git.PrivateKey for ssh"},
		"a password in the URL":    {Git{URL: pulumi.String("https://web:" + canary + "@git.example.com/web.git")}, "contains a user"},
		"a password in the clear":  {Git{URL: pulumi.String("http://git.example.com/web.git"), Username: text, Password: hidden}, "in plain text: use https"},
		"signatures of nobody":     {Git{URL: repository, Verify: &GitVerification{}}, "one of Git.Verify.Keys and Git.Verify.SecretName must be given"},
		"signatures of a branch":   {Git{URL: repository, Verify: &GitVerification{Mode: VerifyTag, SecretName: text}}, "Git.Verify.Mode Tag needs Git.Tag or Git.SemVer"},
		"signatures of what":       {Git{URL: repository, Verify: &GitVerification{Mode: "All", SecretName: text}}, "Git.Verify.Mode must be HEAD, Tag or TagAndHEAD"},
		"a key that Flux passes":   {Git{URL: repository, Verify: &GitVerification{Keys: keys("ann.pub")}}, `Git.Verify.Keys["ann.pub"] must end in .asc or .sshpub`},
		"two tags":                 {OCI{URL: artifact, Tag: text, Digest: text}, "only one of OCI.Tag, OCI.SemVer and OCI.Digest"},
		"an unknown cloud":         {OCI{URL: artifact, Provider: "moon"}, "OCI.Provider must be aws, azure or gcp"},
		"two logins of OCI":        {OCI{URL: artifact, Provider: "gcp", SecretName: text}, "only one of OCI.Password, OCI.SecretName and OCI.Provider"},
		"anybody's signature":      {OCI{URL: artifact, Verify: &OCIVerification{}}, "one of OCI.Verify.Keys, OCI.Verify.SecretName and OCI.Verify.Identities"},
		"half an identity":         {OCI{URL: artifact, Verify: &OCIVerification{Identities: []OIDCIdentity{{Issuer: "x"}}}}, "must each have an Issuer and a Subject"},
		"notation without a key":   {OCI{URL: artifact, Verify: &OCIVerification{Provider: Notation, Identities: []OIDCIdentity{{"x", "x"}}}}, "Identities are for cosign"},
		"notation without policy":  {OCI{URL: artifact, Verify: &OCIVerification{Provider: Notation, Keys: keys("ca.crt")}}, "must have the trustpolicy.json"},
		"a key that cosign passes": {OCI{URL: artifact, Verify: &OCIVerification{Keys: keys("release.pem")}}, `OCI.Verify.Keys["release.pem"] must end in .pub`},
		"an unknown signature":     {OCI{URL: artifact, Verify: &OCIVerification{Provider: "wax", SecretName: text}}, "OCI.Verify.Provider must be cosign or notation"},
		"a root for keys":          {OCI{URL: artifact, Verify: &OCIVerification{SecretName: text, TrustedRootSecret: text}}, "TrustedRootSecret needs OCI.Verify.Identities"},
		"TLS without TLS":          {OCI{URL: artifact, Insecure: true, TLS: &TLS{CA: text}}, "OCI.Insecure excludes OCI.TLS"},
		"a bucket without a name":  {Bucket{Endpoint: text}, "Bucket.Name and Bucket.Endpoint must be given"},
		"half a key":               {bucket(func(b *Bucket) { b.AccessKey = text }), "Bucket.AccessKey and Bucket.SecretKey must be given together"},
		"two logins of a bucket": {
			bucket(func(b *Bucket) { b.Provider, b.GoogleCredentials, b.ServiceAccount = "gcp", hidden, text }), "only one of Bucket.SecretKey, Bucket.GoogleCredentials",
		},
		"a key of another cloud":  {bucket(func(b *Bucket) { b.GoogleCredentials = hidden }), "Bucket.GoogleCredentials is for Provider gcp"},
		"an identity of no cloud": {bucket(func(b *Bucket) { b.ServiceAccount = text }), "Bucket.ServiceAccount needs a Provider"},
		"TLS of a cloud":          {bucket(func(b *Bucket) { b.Provider, b.TLS = "gcp", &TLS{CA: text} }), "Bucket.TLS is not for Provider gcp"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, func(ctx *pulumi.Context, _ pulumi.ResourceOption) error {
				_, err := NewSource(ctx, "web", &SourceArgs{Namespace: team, Origin: test.origin})
				return err
			})
			assertRefused(t, err, "", test.want)
		})
	}
}
