package gke

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDeniedAccessDiffersFromNoAnswer(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://203.0.113.7/version", Err: err} }
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no login":                  {apierrors.NewUnauthorized("Unauthorized"), "AccessDenied"},
		"no right":                  {apierrors.NewForbidden(schema.GroupResource{}, "version", errors.New("no")), "AccessDenied"},
		"another API's address":     {get(&tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}), "AccessDenied"},
		"no gke-gcloud-auth-plugin": {get(errors.New("getting credentials: exec: executable gke-gcloud-auth-plugin not found")), "AccessDenied"},
		"a connection that is cut":  {get(errors.New("connection reset by peer")), "Unreachable"},
		"an API that starts":        {fmt.Errorf("the server is currently unable to handle the request"), "Unreachable"},
	} {
		if got := unreachable(test.err); got != test.want {
			t.Errorf("%s: the reason is %s, want %s", name, got, test.want)
		}
	}
}
