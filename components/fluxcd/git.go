package fluxcd

import (
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

const gitKind = "GitRepository"

// Git is a Git repository, an Origin of a Source.
type Git struct {
	// URL is the URL of the repository: https, ssh, or http. Required. With http, credentials are allowed for a loopback
	// address only.
	URL pulumi.StringInput
	// Set at most one of Branch, Tag, SemVer (a range of tags), Ref (such as "refs/pull/1/head") and Commit; none means
	// DefaultBranch. Commit may be combined with Branch: the commit must then be on that branch.
	Branch, Tag, SemVer, Ref, Commit pulumi.StringInput

	// At most one of the following ways to log in. Each becomes a Secret in the source's namespace, so the namespace's
	// owner can read it. Never give credentials that may write more than that owner may.

	// Username and Password log in over HTTP.
	Username, Password pulumi.StringInput
	// BearerToken logs in over HTTP.
	BearerToken pulumi.StringInput
	// PrivateKey, in PEM, and KnownHosts log in over SSH.
	PrivateKey, KnownHosts pulumi.StringInput
	// SecretName names an existing Secret with one of these credentials. The Secret may also hold TLS certificates, so
	// SecretName excludes TLS.
	SecretName pulumi.StringInput

	// TLS configures TLS for https. It excludes PrivateKey.
	TLS *TLS
	// Verify makes Flux refuse a commit or tag without the signature of a trusted key.
	Verify *GitVerification
	// RecurseSubmodules also fetches submodules, with the same credentials.
	RecurseSubmodules bool
	// SparseCheckout lists the folders to fetch; nil means all.
	SparseCheckout []string
}

// Modes of GitVerification.
const (
	// VerifyCommit checks the signature of the commit.
	VerifyCommit = "HEAD"
	// VerifyTag checks the signature of the annotated tag.
	VerifyTag = "Tag"
	// VerifyTagAndCommit checks both.
	VerifyTagAndCommit = "TagAndHEAD"
)

// GitVerification says whose signatures Flux trusts.
type GitVerification struct {
	// Mode says which object must be signed: VerifyCommit (the default), VerifyTag or VerifyTagAndCommit. The last two
	// need Git.Tag or Git.SemVer.
	Mode string
	// Keys are public keys by file name: PGP keys, armored, in NAME.asc; SSH keys, in the format of authorized_keys, in
	// NAME.sshpub. They become a Secret in the source's namespace.
	Keys map[string]pulumi.StringInput
	// SecretName names an existing Secret with such keys. It excludes Keys.
	SecretName pulumi.StringInput
}

func (Git) kind() string { return gitKind }

func (g Git) address() pulumi.StringInput {
	return guarded(g.URL, !inputs.Missing(g.Password) || !inputs.Missing(g.BearerToken))
}

func (g Git) fill(b *sourceBuilder) error {
	b.spec["url"] = g.address()
	b.spec["ref"] = g.ref()
	if g.RecurseSubmodules {
		b.spec["recurseSubmodules"] = pulumi.Bool(true)
	}
	if len(g.SparseCheckout) > 0 {
		b.spec["sparseCheckout"] = pulumi.ToStringArray(g.SparseCheckout)
	}
	reference(b.spec, "secretRef", g.SecretName)
	if g.login() > 0 || g.TLS != nil {
		data := map[string]pulumi.StringInput{
			"username": g.Username, "password": g.Password, "bearerToken": g.BearerToken, "identity": g.PrivateKey, "known_hosts": g.KnownHosts,
		}
		maps.Copy(data, g.TLS.data())
		if err := b.secret(b.spec, "secretRef", credentialsSuffix, opaque, data); err != nil {
			return err
		}
	}
	if g.Verify == nil {
		return nil
	}
	verify := pulumi.Map{"mode": pulumi.String(g.Verify.mode())}
	b.spec["verify"] = verify
	reference(verify, "secretRef", g.Verify.SecretName)
	if len(g.Verify.Keys) == 0 {
		return nil
	}
	return b.secret(verify, "secretRef", keysSuffix, opaque, g.Verify.Keys)
}

func (g Git) ref() pulumi.Map {
	ref := pulumi.Map{}
	put(ref, "branch", g.Branch)
	put(ref, "tag", g.Tag)
	put(ref, "semver", g.SemVer)
	put(ref, "name", g.Ref)
	put(ref, "commit", g.Commit)
	if len(ref) == 0 {
		ref["branch"] = pulumi.String(DefaultBranch)
	}
	return ref
}

// login returns the number of ways to log in that are set, without SecretName.
func (g Git) login() int {
	n := 0
	for _, way := range []int{count(g.Username, g.Password), count(g.BearerToken), count(g.PrivateKey, g.KnownHosts)} {
		if way > 0 {
			n++
		}
	}
	return n
}

func (g Git) check() []string {
	var p problems
	p.refuse(inputs.Missing(g.URL), "Git.URL must be given")
	p.refuse(count(g.Branch, g.Tag, g.SemVer, g.Ref) > 1 || !inputs.Missing(g.Commit) && count(g.Tag, g.SemVer, g.Ref) > 0,
		"only one of Git.Branch, Git.Tag, Git.SemVer, Git.Ref and Git.Commit may be given, or Git.Commit with Git.Branch")
	p = append(p, together("Git.Username and Git.Password", g.Username, g.Password)...)
	p = append(p, together("Git.PrivateKey and Git.KnownHosts", g.PrivateKey, g.KnownHosts)...)
	p.refuse(g.login() > 1, "only one of Git.Password, Git.BearerToken and Git.PrivateKey may be given")
	p.refuse(!inputs.Missing(g.SecretName) && (g.login() > 0 || g.TLS != nil), "Git.SecretName excludes other credentials and Git.TLS")
	p.refuse(g.TLS != nil && !inputs.Missing(g.PrivateKey), "Git.TLS is for https, Git.PrivateKey for ssh")
	p = append(p, g.TLS.check()...)
	if g.Verify == nil {
		return p
	}
	mode := g.Verify.mode()
	p.refuse(mode != VerifyCommit && mode != VerifyTag && mode != VerifyTagAndCommit,
		"Git.Verify.Mode must be "+VerifyCommit+", "+VerifyTag+" or "+VerifyTagAndCommit)
	p.refuse((mode == VerifyTag || mode == VerifyTagAndCommit) && count(g.Tag, g.SemVer) == 0,
		"Git.Verify.Mode "+mode+" needs Git.Tag or Git.SemVer")
	p.refuse((len(g.Verify.Keys) == 0) == (inputs.Missing(g.Verify.SecretName)), "one of Git.Verify.Keys and Git.Verify.SecretName must be given")
	return append(p, keysProblem("Git.Verify.Keys", g.Verify.Keys, ".asc", ".sshpub")...)
}

func (v *GitVerification) mode() string {
	if v.Mode == "" {
		return VerifyCommit
	}
	return v.Mode
}
