// Command pod prints, as a JSON object, what Google's own clients find without any configuration: the account of the pod, and
// what this account may do.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"
)

// server is the path of the metadata server's data about the pod's account.
const server = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/"

func main() {
	ctx := context.Background()
	client := metadata.NewClient(&http.Client{})
	found := map[string]string{
		"account":            text(client.EmailWithContext(ctx, "default")),
		"project":            text(client.ProjectIDWithContext(ctx)),
		"mounted token":      mounted(),
		"without the header": get(ctx, nil),
		"forwarded":          get(ctx, http.Header{"Metadata-Flavor": {"Google"}, "X-Forwarded-For": {"10.0.0.1"}}),
		"read the instance": call(ctx, func(s *sqladmin.Service, project string) error {
			_, err := s.Instances.Get(project, "strata").Do()
			return err
		}),
		"delete the instance": call(ctx, func(s *sqladmin.Service, project string) error {
			_, err := s.Instances.Delete(project, "strata").Do()
			return err
		}),
		"ID token": "",
	}
	if _, err := client.GetWithContext(ctx, "instance/service-accounts/default/identity?audience=https://shop.example.com"); err != nil {
		found["ID token"] = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}

func text(value string, err error) string {
	if err != nil {
		return err.Error()
	}
	return value
}

// mounted returns "none", or the reason why the pod has a token for the API server.
func mounted() string {
	_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token")
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	return fmt.Sprintf("there is one (%v)", err)
}

// get asks for an access token with a header, and returns the status.
func get(ctx context.Context, header http.Header) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"token", nil)
	if err != nil {
		return err.Error()
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return response.Status + " " + string(body)
}

// call makes a call to Cloud SQL at Google's own address with the application default credentials. It returns "" or the error.
func call(ctx context.Context, do func(s *sqladmin.Service, project string) error) string {
	login, err := google.FindDefaultCredentials(ctx, sqladmin.CloudPlatformScope)
	if err != nil {
		return err.Error()
	}
	s, err := sqladmin.NewService(ctx, option.WithTokenSource(login.TokenSource))
	if err == nil {
		err = do(s, login.ProjectID)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
