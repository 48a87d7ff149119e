package e2e

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// loseCluster: losecluster — deletes the GKE clusters of the project as the engineer, by Google's client, as somebody might in the console,
// and waits until they are gone. Everything else of the project stays.
func loseCluster(ts *testscript.TestScript, _ bool, _ []string) {
	h, err := home.At(ts.Getenv("STRATA_HOME"))
	ts.Check(err)
	credentials, err := os.ReadFile(h.EngineerCredentials())
	ts.Check(err)
	options, err := googleAs(h, credentials, google.AuthorizedUser, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT")
	ts.Check(err)
	service, err := container.NewService(context.Background(), options...)
	ts.Check(err)
	clusters := service.Projects.Locations.Clusters
	parent := "projects/" + home.Project + "/locations/-"
	list, err := clusters.List(parent).Do()
	ts.Check(err)
	if len(list.Clusters) == 0 {
		ts.Fatalf("the project has no cluster")
	}
	for _, cluster := range list.Clusters {
		name := "projects/" + home.Project + "/locations/" + cluster.Location + "/clusters/" + cluster.Name
		_, err := clusters.Delete(name).Do()
		ts.Check(err)
		for err == nil {
			<-time.After(pollEvery)
			_, err = clusters.Get(name).Do()
		}
		if codeOf(err) != http.StatusNotFound {
			ts.Check(err)
		}
	}
}
