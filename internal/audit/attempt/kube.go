// Package attempt makes the attempts of an audit: requests to the API server, to Google's APIs, to the Git server and the registry, and
// connections to files and sockets. No attempt changes anything.
package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/audit"
)

// Request is a request to the API server. With the method APPLY it is a server-side apply, as Flux sends it. The body is YAML.
type Request struct{ Method, Path, Body string }

// tokenSeconds is the lifetime of the audit's tokens: the shortest that the API server issues.
const tokenSeconds = 600

// Rates of the requests of one identity. The API server's own fairness bounds them.
const (
	requestsPerSecond = 400
	burst             = 800
)

// Cluster sends requests to the API server as any identity.
type Cluster struct {
	config      *rest.Config
	impersonate bool
	admin       kubernetes.Interface
}

// NewCluster returns a Cluster. config is the administrator's.
func NewCluster(config *rest.Config, impersonate bool) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, burst
	// A warning about a deprecated field is no matter of the audit.
	config.WarningHandler = rest.NoWarnings{}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &Cluster{config: config, impersonate: impersonate, admin: admin}, nil
}

// Admin returns the administrator's client.
func (c *Cluster) Admin() kubernetes.Interface { return c.admin }

// Subject sends requests as one identity.
type Subject struct{ client rest.Interface }

// As returns the subject of an identity: with a token of its account, by impersonation, or without credentials.
func (c *Cluster) As(ctx context.Context, identity audit.Identity) (*Subject, error) {
	config := rest.CopyConfig(c.config)
	switch identity.Class {
	case audit.Administrator:
	case audit.Anonymous:
		config = rest.AnonymousClientConfig(config)
	default:
		namespace, name, ok := identity.Account()
		if !ok {
			return nil, fmt.Errorf("%s has no service account", identity.Name)
		}
		if _, err := c.admin.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("find the account of %s: %w", identity.Name, err)
		}
		if c.impersonate {
			config.Impersonate = rest.ImpersonationConfig{UserName: identity.Kubernetes, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
			break
		}
		token, err := c.token(ctx, namespace, name)
		if err != nil {
			return nil, fmt.Errorf("request a token of %s: %w", identity.Name, err)
		}
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = token
	}
	config.APIPath, config.GroupVersion = "/", nil
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Subject{client}, nil
}

// token returns a token of a service account. The API server stores nothing of it.
func (c *Cluster) token(ctx context.Context, namespace, name string) (string, error) {
	seconds := int64(tokenSeconds)
	answer, err := c.admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// Try sends a request. A request that would change something is a dry run: the API server authorises and admits it, and stores
// nothing. The content of an answer is discarded.
func (s *Subject) Try(ctx context.Context, r Request) audit.Answer {
	path, query, _ := strings.Cut(r.Path, "?")
	call := s.client.Verb(r.Method)
	kind := "application/json"
	switch r.Method {
	case "APPLY":
		call, kind = s.client.Verb(http.MethodPatch).Param("fieldManager", "strata-audit").Param("force", "true"), "application/apply-patch+yaml"
	case http.MethodPatch:
		kind = "application/merge-patch+json"
	case http.MethodGet:
		// One object shows as much as all of them.
		call = call.Param("limit", "1")
	}
	if r.Method != http.MethodGet {
		call = call.Param("dryRun", metav1.DryRunAll)
	}
	call = call.AbsPath(path)
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, found := strings.Cut(pair, "="); found {
			call = call.Param(key, value)
		}
	}
	if r.Body != "" {
		body, err := yaml.YAMLToJSON([]byte(r.Body))
		if err != nil {
			return audit.Answer{Err: err}
		}
		call = call.Body(body).SetHeader("Content-Type", kind)
	}
	return answerOf(call.Do(ctx).Error())
}

// Impersonate tries to act as another user.
func (s *Subject) Impersonate(ctx context.Context, user string, groups ...string) audit.Answer {
	call := s.client.Get().AbsPath("/api/v1/namespaces").Param("limit", "1").SetHeader("Impersonate-User", user)
	if len(groups) > 0 {
		call = call.SetHeader("Impersonate-Group", groups...)
	}
	return answerOf(call.Do(ctx).Error())
}

// policy matches the name of an admission policy in the API server's message.
var policy = regexp.MustCompile(`(?:Validating|Mutating)AdmissionPolicy '([^']+)'`)

// answerOf turns the API server's answer into that of an attempt. The API server authorises a request before it looks for the object
// and before it validates the body: an answer such as "not found" or "invalid" therefore means that the identity may send the
// request.
func answerOf(err error) audit.Answer {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return audit.Answer{Allowed: true}
	case !errors.As(err, &status):
		return audit.Answer{Err: err}
	}
	message := status.Status().Message
	named := policy.FindStringSubmatch(message)
	switch code := int(status.Status().Code); {
	case named != nil && (code == http.StatusForbidden || code == http.StatusUnprocessableEntity || code == http.StatusBadRequest):
		return audit.Answer{By: "admission policy " + named[1], Message: message}
	case code == http.StatusUnauthorized:
		return audit.Answer{By: "authentication", Message: message}
	case code == http.StatusForbidden:
		return audit.Answer{By: refuser(message), Message: message}
	case code == http.StatusNotFound, code == http.StatusConflict, code == http.StatusUnprocessableEntity, code == http.StatusBadRequest,
		code == http.StatusMethodNotAllowed, code == http.StatusUnsupportedMediaType:
		return audit.Answer{Allowed: true, Message: "authorised: " + message}
	}
	return audit.Answer{Err: err}
}

// refuser returns the part of the API server that wrote the message of a 403, or "" for a message that is no refusal of the act: that an
// account is missing, or a namespace ends.
func refuser(message string) string {
	switch {
	case strings.Contains(message, "violates PodSecurity"):
		return "Pod Security"
	case strings.Contains(message, "exceeded quota"):
		return "quota"
	case strings.Contains(message, "admission webhook"):
		return "admission webhook"
	case strings.Contains(message, "attempting to grant RBAC permissions not currently held"):
		return "RBAC, escalation"
	case strings.Contains(message, " cannot "):
		return "RBAC"
	}
	return ""
}

// decode decodes JSON, and reports whether it could.
func decode(raw []byte, into any) bool { return json.Unmarshal(raw, into) == nil }
