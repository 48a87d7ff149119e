package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// absent: absent KUBECONFIG PATH — no object exists at a path of the API server.
func absent(ts *testscript.TestScript, _ bool, args []string) { ts.Check(tryAbsent(ts, args)) }

func tryAbsent(_ *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	found, err := client.Discovery().RESTClient().Get().AbsPath(args[1]).DoRaw(context.Background())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s exists: %s", args[1], found)
	}
	return err
}

// account: account ID — a Google service account exists. With a ! in front, it does not exist.
func account(ts *testscript.TestScript, neg bool, args []string) {
	h, err := home.At(ts.Getenv("STRATA_HOME"))
	ts.Check(err)
	credentials, err := os.ReadFile(h.EngineerCredentials())
	ts.Check(err)
	options, err := googleAs(h, credentials, google.AuthorizedUser, "GOOGLE_IAM_CUSTOM_ENDPOINT")
	ts.Check(err)
	service, err := iam.NewService(context.Background(), options...)
	ts.Check(err)
	_, err = service.Projects.ServiceAccounts.Get(googleAccount(args[0])).Do()
	expect(ts, neg, err, func(err error) bool { return codeOf(err) == http.StatusNotFound })
}

// googleAccount returns the resource name of a Google service account.
func googleAccount(id string) string {
	return fmt.Sprintf("projects/%s/serviceAccounts/%s@%s.iam.gserviceaccount.com", home.Project, id, home.Project)
}

// googleAs returns the options of a client of an emulated API that adds the version itself.
func googleAs(h home.Home, credentials []byte, kind google.CredentialsType, endpoint string) ([]option.ClientOption, error) {
	ctx := context.Background()
	status, err := supervisor.Connect(h).Status(ctx)
	if err != nil {
		return nil, err
	}
	login, err := google.CredentialsFromJSONWithType(ctx, credentials, kind, iam.CloudPlatformScope)
	if err != nil {
		return nil, err
	}
	url := cloud.Endpoints(status.GoogleURL)[endpoint]
	for _, version := range []string{"v1/", "sql/v1beta4/"} {
		url = strings.TrimSuffix(url, version)
	}
	return []option.ClientOption{option.WithTokenSource(login.TokenSource), option.WithEndpoint(url)}, nil
}

// codeOf returns the HTTP status of a Google API error; 0 for any other error.
func codeOf(err error) int {
	if refusal, ok := err.(*googleapi.Error); ok { //nolint:errorlint // the clients wrap none
		return refusal.Code
	}
	return 0
}
