package attempt

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/audit"
)

func status(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
}

func TestAnswersOfTheAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		allowed bool
		by      string
		failed  bool
	}{
		"done":                      {nil, true, "", false},
		"not found":                 {status(404, `stacks "x" not found`), true, "", false},
		"invalid":                   {status(422, `Stack "x" is invalid`), true, "", false},
		"RBAC":                      {status(403, `secrets is forbidden: User "a" cannot list resource "secrets"`), false, "RBAC", false},
		"a policy":                  {status(403, `stacks "x" is forbidden: ValidatingAdmissionPolicy 'strata-stacks' with binding 'b' denied request: no`), false, "admission policy strata-stacks", false},
		"a policy, as invalid":      {status(422, `programs "x" is forbidden: ValidatingAdmissionPolicy 'strata-programs' with binding 'b' denied request: no`), false, "admission policy strata-programs", false},
		"Pod Security":              {status(403, `pods "x" is forbidden: violates PodSecurity "restricted"`), false, "Pod Security", false},
		"a quota":                   {status(403, `services "x" is forbidden: exceeded quota: strata`), false, "quota", false},
		"no credentials":            {status(401, "Unauthorized"), false, "authentication", false},
		"a server that is not well": {status(500, "etcd"), false, "", true},
		"a server without time":     {status(504, "timeout"), false, "", true},
		"no connection":             {errors.New("connection refused"), false, "", true},
		"a timeout":                 {context.DeadlineExceeded, false, "", true},
	} {
		if got := answerOf(test.err); got.Allowed != test.allowed || got.By != test.by || (got.Err != nil) != test.failed {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	// A 403 that is about something else is no refusal of the act.
	missing := answerOf(status(403, `pods "x" is forbidden: error looking up service account team-web/default: serviceaccount "default" not found`))
	results, err := audit.Run(t.Context(), []audit.Attempt{{Do: func(context.Context) audit.Answer { return missing }}})
	if err != nil || results[0].Outcome != audit.Failed {
		t.Errorf("a missing account: %+v, %v", results, err)
	}
}

func TestAnswersOfServers(t *testing.T) {
	cancelled := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		login, _, _ := r.BasicAuth()
		switch {
		case r.Method == http.MethodDelete:
			cancelled = r.URL.Path
		case strings.Contains(r.URL.Path, "slow"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.HasSuffix(r.URL.Path, ":testIamPermissions"):
			_, _ = w.Write([]byte(`{"permissions": ["a.b.c"]}`))
		case login == "web":
			w.Header().Set("Location", "/v2/uploads/1")
			w.WriteHeader(http.StatusAccepted)
		case login == "":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	defer server.Close()
	ctx := t.Context()
	for name, test := range map[string]struct {
		got     audit.Answer
		allowed bool
		by      string
		failed  bool
	}{
		"push as the writer":      {Git(ctx, server.URL, "web", "web", "x", true), true, "", false},
		"push as another":         {Git(ctx, server.URL, "web", "shop", "x", true), false, "Git server", false},
		"fetch without a login":   {Git(ctx, server.URL, "web", "", "", false), false, "Git server", false},
		"a server out of order":   {Git(ctx, server.URL, "slow", "web", "x", false), false, "", true},
		"no server":               {Git(ctx, "http://127.0.0.1:1", "web", "web", "x", false), false, "", true},
		"an upload of another":    {Push(ctx, server.URL, "team-web/x", "shop", "x"), false, "registry", false},
		"an upload":               {Push(ctx, server.URL, "team-web/x", "web", "x"), true, "", false},
		"a permission":            {Permission(ctx, "t", server.URL+"/p", "a.b.c"), true, "", false},
		"a missing permission":    {Permission(ctx, "t", server.URL+"/p", "a.b.d"), false, "IAM", false},
		"a call without a token":  {Google(ctx, "", http.MethodGet, server.URL+"/p", ""), false, "IAM", false},
		"a file that is missing":  {Open(filepath.Join(t.TempDir(), "missing")), false, "", true},
		"a server that is absent": {Dial(ctx, "tcp", "127.0.0.1:1"), false, "", true},
	} {
		if test.got.Allowed != test.allowed || test.got.By != test.by || (test.got.Err != nil) != test.failed {
			t.Errorf("%s: got %+v", name, test.got)
		}
	}
	if cancelled != "/v2/uploads/1" {
		t.Errorf("the cancelled upload is %q", cancelled)
	}
}

func TestAnotherUserReadsOnlyWhatIsOpen(t *testing.T) {
	dir, err := os.MkdirTemp("", "audit-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	closed := Open(dir)
	if os.Geteuid() != 0 {
		if closed.Skipped == "" {
			t.Errorf("without root: %+v", closed)
		}
		return
	}
	if closed.By != "file permissions" {
		t.Errorf("a folder of mode 0700: %+v", closed)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // The test is about this mode.
		t.Fatal(err)
	}
	if open := Open(dir); !open.Allowed {
		t.Errorf("a folder of mode 0755: %+v", open)
	}
	// The thread of the other user has ended: this process is itself again.
	if _, err := os.ReadDir("/root"); err != nil && os.IsPermission(err) {
		t.Errorf("the process is still another user: %v", err)
	}
}
