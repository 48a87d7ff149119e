package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// pollEvery is the interval between the attempts of `eventually`.
const pollEvery = 200 * time.Millisecond

// eventually: eventually DURATION CHECK ARGS... — retries a check until it passes.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	checks := map[string]func(*testscript.TestScript, []string) error{
		"mysql": tryMySQL, "secret": trySecret, "read": tryRead, "apply": tryApply, "stack": tryStack,
		"flux": tryFlux, "applied": tryApplied, "gone": tryGone, "nomore": tryNoMore, "says": trySays, "shows": tryShows, "absent": tryAbsent, "configmap": tryConfigMap,
	}
	if neg || len(args) < 2 || checks[args[1]] == nil {
		ts.Fatalf("usage: eventually DURATION CHECK ARGS, with CHECK one of %v", slices.Sorted(maps.Keys(checks)))
	}
	timeout, err := time.ParseDuration(args[0])
	ts.Check(err)
	deadline := time.Now().Add(timeout)
	for {
		err := checks[args[1]](ts, args[2:])
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not within %s: %v", timeout, err)
		}
		<-time.After(pollEvery)
	}
}

// expect fails the script unless a check has the expected result. With a ! in front of its command, the
// platform must deny the attempt of the check. An error of a broken or missing server does not count.
func expect(ts *testscript.TestScript, neg bool, err error, refused func(error) bool) {
	switch {
	case !neg:
		ts.Check(err)
	case err == nil:
		ts.Fatalf("the attempt must be denied, but succeeded")
	case !refused(err):
		ts.Fatalf("the attempt must be denied, but failed: %v", err)
	default:
		ts.Logf("denied: %v", err)
	}
}

func refusedByGoogle(err error) bool {
	var refusal *googleapi.Error
	return errors.As(err, &refusal) && refusal.Code == http.StatusForbidden
}

// secret: secret KUBECONFIG NAMESPACE NAME — reads a Secret and sets a variable for each of its keys.
func secret(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, neg, trySecret(ts, args), apierrors.IsForbidden)
}

func trySecret(ts *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	s, err := client.CoreV1().Secrets(args[1]).Get(context.Background(), args[2], metav1.GetOptions{})
	if err != nil {
		return err
	}
	for key, value := range s.Data {
		ts.Setenv(key, string(value))
	}
	return nil
}

// read: read KUBECONFIG PATH [REGEXP] — gets a path of the API server, such as /api/v1/namespaces/x/secrets, and prints
// the response, which must match.
func read(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, neg, tryRead(ts, args), apierrors.IsForbidden)
}

func tryRead(ts *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	raw, err := client.Discovery().RESTClient().Get().RequestURI(args[1]).DoRaw(context.Background())
	if err != nil {
		return err
	}
	if len(args) > 2 {
		pattern, err := regexp.Compile(args[2])
		if err != nil {
			return err
		}
		if !pattern.Match(raw) {
			return fmt.Errorf("%s does not match %s: %s", args[1], pattern, raw)
		}
	}
	_, err = ts.Stdout().Write(raw)
	return err
}

// remove: delete KUBECONFIG PATH — deletes the object or collection at a path of the API server.
func remove(ts *testscript.TestScript, neg bool, args []string) {
	client, err := clientOf(args[0])
	ts.Check(err)
	expect(ts, neg, client.Discovery().RESTClient().Delete().RequestURI(args[1]).Do(context.Background()).Error(), apierrors.IsForbidden)
}

// trySays: says REGEXP COMMAND ARGS... — the output of a command, on standard output or standard error, matches, with
// any exit code.
func trySays(ts *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	ended := fmt.Sprint(ts.Exec(args[1], args[2:]...))
	if said := ts.ReadFile("stdout") + ts.ReadFile("stderr"); !pattern.MatchString(said) {
		return fmt.Errorf("%s ended with %s, and its output does not match %s:\n%s", strings.Join(args[1:], " "), ended, pattern, said)
	}
	return nil
}

func clientOf(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(kubeconfig))
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// createGoogleCluster: gcluster FILE — tries to create a GKE cluster with the identity in $GOOGLE_CREDENTIALS, at the
// endpoint in the file. It writes a denial to gcluster.err.
func createGoogleCluster(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	given := ts.Getenv("GOOGLE_CREDENTIALS")
	credentials, err := google.CredentialsFromJSONWithType(ctx, []byte(given), kindOf(given), container.CloudPlatformScope)
	ts.Check(err)
	service, err := container.NewService(ctx, option.WithTokenSource(credentials.TokenSource), option.WithEndpoint(strings.TrimSuffix(ts.ReadFile(args[0]), "v1/")))
	ts.Check(err)
	parent := fmt.Sprintf("projects/%s/locations/%s", ts.Getenv("GOOGLE_PROJECT"), ts.Getenv("GOOGLE_REGION"))
	_, err = service.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{
		Cluster: &container.Cluster{Name: "mine", InitialNodeCount: 1},
	}).Do()
	if err != nil {
		ts.Check(os.WriteFile(ts.MkAbs("gcluster.err"), []byte(err.Error()), 0o600))
	}
	expect(ts, neg, err, refusedByGoogle)
}

// replace: replace FILE OLD NEW — replaces the only occurrence of a text in a file. \n stands for a newline.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	old, changed := strings.ReplaceAll(args[1], `\n`, "\n"), strings.ReplaceAll(args[2], `\n`, "\n")
	if strings.Count(text, old) != 1 {
		ts.Fatalf("%q is in %s %d times", old, args[0], strings.Count(text, old))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, changed, 1)), 0o600))
}
