package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/signing"
)

// published matches the output of strata publish, for a team or the platform.
var published = regexp.MustCompile(`(\S+/(?:team-([a-z]+)/deploy|platform/sync)):([0-9.]+)@(sha256:[0-9a-f]{64})`)

// artifact: [!] artifact VERB FILE TAG — attacks the artifacts of a team, or of the platform, with their login for the registry, and without
// the key of the publisher. FILE contains the output of strata publish. The verb copy gives the published artifact another
// tag; tamper pushes it as the version TAG, and so with another manifest; sign pushes its signature as that of the artifact
// TAG; delete removes a tag. With !, the registry must refuse it.
func artifact(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, neg, tryArtifact(ts, args[0], ts.ReadFile(args[1]), args[2]), refusedByRegistry)
}

// newKey: newkey FILE — writes the private key of a publisher that nobody trusts.
func newKey(ts *testscript.TestScript, _ bool, args []string) {
	_, err := signing.EnsureKey("another key", ts.MkAbs(args[0]))
	ts.Check(err)
}

// refusedByRegistry reports whether the registry refuses a signature that belongs to another artifact.
func refusedByRegistry(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && strings.Contains(answer.Error(), "made for another digest")
}

func tryArtifact(ts *testscript.TestScript, verb, output, tag string) error {
	match := published.FindStringSubmatch(output)
	if match == nil {
		return fmt.Errorf("%q is not the output of strata publish", output)
	}
	// The engineer's login can push the platform's artifacts.
	login, err := gitLogin(ts, cmp.Or(match[2], "engineer"))
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithAuth(login)}
	repository, err := name.NewRepository(match[1], name.Insecure)
	if err != nil {
		return err
	}
	of := func(digest string) name.Tag { return repository.Tag(strings.Replace(digest, ":", "-", 1) + ".sig") }
	from, to := name.Reference(repository.Digest(match[4])), repository.Tag(tag)
	change := func(image v1.Image) v1.Image { return image }
	switch verb {
	case "delete":
		return remote.Delete(to, options...)
	case "copy":
	case "tamper":
		change = func(image v1.Image) v1.Image {
			return mutate.Annotations(image, map[string]string{publish.VersionAnnotation: tag}).(v1.Image)
		}
	case "sign":
		found, err := remote.Head(to, options...)
		if err != nil {
			return err
		}
		from, to = of(match[4]), of(found.Digest.String())
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	image, err := remote.Image(from, options...)
	if err != nil {
		return err
	}
	return remote.Write(to, change(image), options...)
}

// gitLogin returns the login of a team, which the registry accepts, too.
func gitLogin(ts *testscript.TestScript, team string) (authn.Authenticator, error) {
	for line := range strings.Lines(ts.ReadFile(filepath.Join(ts.Getenv("STRATA_HOME"), "credentials", "git-logins"))) {
		address, err := url.Parse(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		if password, _ := address.User.Password(); address.User.Username() == team {
			return &authn.Basic{Username: team, Password: password}, nil
		}
	}
	return nil, fmt.Errorf("team %s has no login", team)
}
