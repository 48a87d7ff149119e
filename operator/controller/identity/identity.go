// Package identity gives a run the identity of its Stack's service account.
package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/handoff/keyless"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
)

const (
	// tokenSeconds is the lifetime of a run's token. The engine renews the token of a
	// longer run.
	tokenSeconds = keyless.TokenSeconds

	// tokenFile is the name of a run's token file, beside its kubeconfig.
	tokenFile = "token"
)

// Missing says why a run has no identity. The zero value means that it has one.
type Missing struct {
	// Err is the error of the token request.
	Err error

	// Terminating says that the Stack's namespace is being deleted, and its service account with it. If Terminating is
	// false, only the service account does not exist.
	Terminating bool
}

// Set gives a run the Kubernetes identity of its Stack's service account: it sets Kubeconfig and Token of the request. A
// destroy continues without an identity if the service account is gone, because there may be nothing in the cluster to
// destroy. Set then returns the reason. If the namespace is being deleted, Kubernetes deletes its objects, and Set
// lets Pulumi drop objects that it cannot reach.
//
// team reads the policy of the team, whose Google account the run acts as; nil means that the run has no identity in Google Cloud.
func Set(ctx context.Context, c client.Client, config *rest.Config, stack *v1.Stack, team *tenant.Reader, req *engine.Request) (Missing, error) {
	first, renew, err := token(ctx, c, stack.Namespace, stack.ServiceAccount(), "")
	if err != nil {
		missing := Missing{Err: err, Terminating: apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)}
		if req.Operation != engine.Destroy || !missing.Terminating && !apierrors.IsNotFound(err) {
			return Missing{}, err
		}
		if missing.Terminating {
			env := map[string]string{"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
			maps.Copy(env, req.Env)
			req.Env = env
		}
		return missing, nil
	}
	if req.Kubeconfig, err = kubeconfig(config, stack.Namespace); err != nil {
		return Missing{}, err
	}
	req.Token = func(ctx context.Context) (string, time.Duration, error) {
		if given := first; given != "" {
			first = ""
			return given, renew, nil
		}
		return token(ctx, c, stack.Namespace, stack.ServiceAccount(), "")
	}
	if team == nil {
		return Missing{}, nil
	}
	return Missing{}, SetGoogle(ctx, c, team, stack.Namespace, stack.ServiceAccount(), req)
}

// SetGoogle lets a run act as the Google account of its team, if the policy of the team names one: it sets Google of the request. The
// run exchanges a token of the service account for a token of the Google account, and Google decides whether it may. An empty account
// means the first one that the team's Stacks may run as.
func SetGoogle(ctx context.Context, c client.Client, team *tenant.Reader, namespace, account string, req *engine.Request) error {
	policy, err := team.Policy(ctx)
	if err != nil && !errors.Is(err, tenant.ErrMissing) {
		return err
	}
	as := policy.Google()
	if as != nil && account == "" && len(policy.StackAccounts) > 0 {
		account = policy.StackAccounts[0]
	}
	if as == nil || account == "" {
		return nil
	}
	req.Google = &keyless.Login{Identity: *as, Token: func(ctx context.Context) (string, time.Duration, error) {
		return token(ctx, c, namespace, account, as.Pool())
	}}
	return nil
}

// Subject returns a token of a service account for the pool of an identity, which is valid for an hour.
func Subject(ctx context.Context, c client.Client, namespace, account string, as keyless.Identity) (string, error) {
	value, _, err := token(ctx, c, namespace, account, as.Pool())
	return value, err
}

// As returns a connection to the cluster with a token of a service account, for requests that take less than an hour.
func As(ctx context.Context, c client.Client, config *rest.Config, namespace, account string) (*rest.Config, error) {
	value, _, err := token(ctx, c, namespace, account, "")
	if err != nil {
		return nil, err
	}
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = value
	return as, nil
}

// token requests a token of a service account for an audience; empty means the API server. renew is the duration after which to renew
// the token, which is four fifths of its lifetime.
func token(ctx context.Context, c client.Client, namespace, name, audience string) (value string, renew time.Duration, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)},
	}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	asked := time.Now()
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return "", 0, fmt.Errorf("get a token of service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	return request.Status.Token, request.Status.ExpirationTimestamp.Sub(asked) * 4 / 5, nil
}

// kubeconfig returns a run's kubeconfig file. The file refers to the token file beside
// it, the operator's cluster and the Stack's namespace, and contains none of the
// operator's own credentials.
func kubeconfig(config *rest.Config, namespace string) ([]byte, error) {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return nil, fmt.Errorf("load the cluster's certificate authority: %w", err)
	}
	const name = "stack"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
		CertificateAuthorityData: loaded.CAData,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	file.CurrentContext = name
	content, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("write the run's kubeconfig: %w", err)
	}
	return content, nil
}
