package serviceaccount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// publicKeyType is the default form of the public key.
const publicKeyType = "TYPE_X509_PEM_FILE"

type keyArgs struct {
	Keepers          map[string]string `json:"keepers,omitempty"`
	KeyAlgorithm     string            `json:"keyAlgorithm,omitempty"`
	PrivateKeyType   string            `json:"privateKeyType,omitempty"`
	PublicKeyData    string            `json:"publicKeyData,omitempty"`
	PublicKeyType    string            `json:"publicKeyType,omitempty"`
	ServiceAccountID string            `json:"serviceAccountId"`
}

type keyState struct {
	keyArgs
	Name        string `json:"name"`
	PrivateKey  string `json:"privateKey,omitempty"`
	PublicKey   string `json:"publicKey,omitempty"`
	ValidAfter  string `json:"validAfter,omitempty"`
	ValidBefore string `json:"validBefore,omitempty"`
}

type keyRequest = frame.Request[keyArgs, keyState]

// Key returns the resource type of keys of service accounts.
func Key(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  serviceaccount.KeyArgs{},
		State: serviceaccount.Key{},
		Rules: rules.ByPath{
			"keepers":          {Replace: true},
			"keyAlgorithm":     {Replace: true, Default: "KEY_ALG_RSA_2048", OneOf: []string{"KEY_ALG_UNSPECIFIED", "KEY_ALG_RSA_1024", "KEY_ALG_RSA_2048"}},
			"privateKey":       {Secret: true},
			"privateKeyType":   {Replace: true, Default: "TYPE_GOOGLE_CREDENTIALS_FILE", OneOf: []string{"TYPE_UNSPECIFIED", "TYPE_PKCS12_FILE", "TYPE_GOOGLE_CREDENTIALS_FILE"}},
			"publicKeyData":    {Replace: true, Excludes: []string{"keyAlgorithm", "privateKeyType"}},
			"publicKeyType":    {Replace: true, Default: publicKeyType, OneOf: []string{"TYPE_NONE", "TYPE_X509_PEM_FILE", "TYPE_RAW_PUBLIC_KEY"}},
			"serviceAccountId": {Replace: true},
		},
		Operations: frame.Handle(frame.CRUD[keyArgs, keyState]{
			Create: g.createKey,
			Read:   g.readKey,
			Delete: func(ctx context.Context, r keyRequest) error {
				svc, err := g.IAM(ctx)
				if err != nil {
					return err
				}
				_, err = svc.Projects.ServiceAccounts.Keys.Delete(r.ID).Context(ctx).Do()
				return core.Explain(err)
			},
		}),
	}
}

// createKey creates a key, or uploads the public part of the program's own key.
func (g provider) createKey(ctx context.Context, r keyRequest) (string, keyState, error) {
	account, err := g.fullName(r.Args.ServiceAccountID)
	if err != nil {
		return "", keyState{}, err
	}
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", keyState{}, err
	}
	var created *iam.ServiceAccountKey
	if r.Args.PublicKeyData != "" {
		created, err = svc.Projects.ServiceAccounts.Keys.Upload(account, &iam.UploadServiceAccountKeyRequest{
			PublicKeyData: r.Args.PublicKeyData,
		}).Context(ctx).Do()
	} else {
		created, err = svc.Projects.ServiceAccounts.Keys.Create(account, &iam.CreateServiceAccountKeyRequest{
			KeyAlgorithm: r.Args.KeyAlgorithm, PrivateKeyType: r.Args.PrivateKeyType,
		}).Context(ctx).Do()
	}
	if err != nil {
		return "", keyState{}, core.Explain(err)
	}
	state := keyState{
		keyArgs: r.Args, Name: created.Name, PrivateKey: created.PrivateKeyData,
		ValidAfter: created.ValidAfterTime, ValidBefore: created.ValidBeforeTime,
	}
	// The API returns the private key only in this call, so every return below must include the state.
	public, err := svc.Projects.ServiceAccounts.Keys.Get(created.Name).PublicKeyType(r.Args.PublicKeyType).Context(ctx).Do()
	if err != nil {
		return created.Name, state, core.Explain(err)
	}
	state.PublicKey = public.PublicKeyData
	return created.Name, state, nil
}

// readKey returns the public part of a key. The private part stays in the state.
func (g provider) readKey(ctx context.Context, r keyRequest) (string, keyState, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", keyState{}, err
	}
	if r.Importing {
		return "", keyState{}, errors.New("a key cannot be imported, because the API returns its private part only on creation: create a new key")
	}
	k, err := svc.Projects.ServiceAccounts.Keys.Get(r.ID).PublicKeyType(cmp.Or(r.Args.PublicKeyType, publicKeyType)).Context(ctx).Do()
	if err != nil {
		return "", keyState{}, core.Explain(err)
	}
	state := keyState{keyArgs: r.Args, Name: k.Name, PublicKey: k.PublicKeyData}
	if r.Args.PublicKeyData == "" {
		state.KeyAlgorithm = k.KeyAlgorithm
	}
	return k.Name, state, nil
}

// fullName returns the full name of a key's account. Like the official provider, it accepts the full name, the e-mail
// address and the account's ID.
func (g provider) fullName(account string) (string, error) {
	switch {
	case strings.HasPrefix(account, "projects/"):
		return account, nil
	case strings.Contains(account, "@"):
		return "projects/-/serviceAccounts/" + account, nil
	}
	project, err := g.Project("")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("projects/-/serviceAccounts/%s@%s.iam.gserviceaccount.com", account, project), nil
}
