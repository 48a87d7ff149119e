package fluxcd

import (
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const gitKind = "GitRepository"

// Git is a Git repository, an Origin of a Source.
type Git struct {
	// URL of the repository: https, ssh, or http. Required. Credentials go over http to a loopback address only.
	URL pulumi.StringInput
	// At most one of Branch, Tag, SemVer (a range of tags), Ref (such as "refs/pull/1/head") and Commit says what is fetched;
	// DefaultBranch by default. Commit goes with Branch, too: then it has to be on it.
	Branch, Tag, SemVer, Ref, Commit pulumi.StringInput

	// At most one way to log in. Each becomes a Secret in the source's namespace, so that its owner can read it: never give one
	// that may write to more than that owner may.

	// Username and Password over http.
	Username, Password pulumi.StringInput
	// BearerToken over http.
	BearerToken pulumi.StringInput
	// PrivateKey in PEM and KnownHosts over ssh.
	PrivateKey, KnownHosts pulumi.StringInput
	// SecretName names a Secret with one of these that is there already. It excludes TLS, which it may hold as well.
	SecretName pulumi.StringInput

	// TLS over https. It excludes PrivateKey.
	TLS *TLS
	// Verify has a commit or a tag refused that nobody signed whom it trusts.
	Verify *GitVerification
	// RecurseSubmodules fetches submodules, too, with the same credentials.
	RecurseSubmodules bool
	// SparseCheckout are the only folders to fetch, all by default.
	SparseCheckout []string
}

// Modes of GitVerification.
const (
	// VerifyCommit checks the signature of the commit.
	VerifyCommit = "HEAD"
	// VerifyTag checks that of the annotated tag.
	VerifyTag = "Tag"
	// VerifyTagAndCommit checks both.
	VerifyTagAndCommit = "TagAndHEAD"
)

// GitVerification says whose signatures Flux trusts.
type GitVerification struct {
	// Mode is what has to be signed: VerifyCommit (the default), VerifyTag or VerifyTagAndCommit; the last two need Git.Tag or
	// Git.SemVer.
	Mode string
	// Keys are public keys by name: of PGP, armored, in NAME.asc; of SSH, in the format of authorized_keys, in NAME.sshpub.
	// They become a Secret in the source's namespace.
	Keys map[string]pulumi.StringInput
	// SecretName names a Secret with such keys that is there already. It excludes Keys.
	SecretName pulumi.StringInput
}

func (Git) kind() string { return gitKind }

func (g Git) address() pulumi.StringInput {
	return guarded(g.URL, g.Password != nil || g.BearerToken != nil)
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

// login is how many ways to log in are given; SecretName is none of them.
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
	p.refuse(g.URL == nil, "Git.URL must be given")
	p.refuse(count(g.Branch, g.Tag, g.SemVer, g.Ref) > 1 || g.Commit != nil && count(g.Tag, g.SemVer, g.Ref) > 0,
		"only one of Git.Branch, Git.Tag, Git.SemVer, Git.Ref and Git.Commit may be given, or Git.Commit with Git.Branch")
	p = append(p, together("Git.Username and Git.Password", g.Username, g.Password)...)
	p = append(p, together("Git.PrivateKey and Git.KnownHosts", g.PrivateKey, g.KnownHosts)...)
	p.refuse(g.login() > 1, "only one of Git.Password, Git.BearerToken and Git.PrivateKey may be given")
	p.refuse(g.SecretName != nil && (g.login() > 0 || g.TLS != nil), "Git.SecretName excludes other credentials and Git.TLS")
	p.refuse(g.TLS != nil && g.PrivateKey != nil, "Git.TLS is for https, Git.PrivateKey for ssh")
	p = append(p, g.TLS.check()...)
	if g.Verify == nil {
		return p
	}
	mode := g.Verify.mode()
	p.refuse(mode != VerifyCommit && mode != VerifyTag && mode != VerifyTagAndCommit,
		"Git.Verify.Mode must be "+VerifyCommit+", "+VerifyTag+" or "+VerifyTagAndCommit)
	p.refuse((mode == VerifyTag || mode == VerifyTagAndCommit) && count(g.Tag, g.SemVer) == 0,
		"Git.Verify.Mode "+mode+" needs Git.Tag or Git.SemVer")
	p.refuse((len(g.Verify.Keys) == 0) == (g.Verify.SecretName == nil), "one of Git.Verify.Keys and Git.Verify.SecretName must be given")
	return append(p, keysProblem("Git.Verify.Keys", g.Verify.Keys, ".asc", ".sshpub")...)
}

func (v *GitVerification) mode() string {
	if v.Mode == "" {
		return VerifyCommit
	}
	return v.Mode
}
