package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bucketLink matches the address of a bucket in the JSON API.
var bucketLink = regexp.MustCompile(`^(http://127\.0\.0\.1:[0-9]+/.*/)b/([^/]+)$`)

// bucket: bucket VERB LINK [OBJECT [TEXT]] — calls Cloud Storage by Google's client, as the account of the environment's
// GOOGLE_CREDENTIALS, a key or its file. LINK is the address of the bucket; with =NAME at its
// end, another bucket of this cloud. The verbs are create, which creates the bucket
// itself, put, get, which compares the object with TEXT, and gone, which fails if the object exists.
func bucket(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, neg, tryBucket(ts, args), refusedByGoogle)
}

func tryBucket(ts *testscript.TestScript, args []string) error {
	address, name, renamed := strings.Cut(args[1], "=")
	link := bucketLink.FindStringSubmatch(address)
	if link == nil {
		return fmt.Errorf("%q is not the address of an emulated bucket", args[1])
	}
	if renamed {
		link[2] = name
	}
	key := ts.Getenv("GOOGLE_CREDENTIALS")
	if !strings.HasPrefix(key, "{") {
		key = ts.ReadFile(key)
	}
	ctx := context.Background()
	credentials, err := google.CredentialsFromJSONWithType(ctx, []byte(key), kindOf(key), storage.CloudPlatformScope)
	if err != nil {
		return err
	}
	service, err := storage.NewService(ctx, option.WithTokenSource(credentials.TokenSource), option.WithEndpoint(link[1]))
	if err != nil {
		return err
	}
	switch args[0] {
	case "create":
		_, err = service.Buckets.Insert(ts.Getenv("GOOGLE_PROJECT"), &storage.Bucket{Name: link[2], Location: ts.Getenv("GOOGLE_REGION")}).Do()
	case "put":
		_, err = service.Objects.Insert(link[2], &storage.Object{Name: args[2]}).Media(strings.NewReader(args[3])).Do()
	case "get":
		response, failed := service.Objects.Get(link[2], args[2]).Download()
		if failed != nil {
			return failed
		}
		defer response.Body.Close()
		content, failed := io.ReadAll(response.Body)
		if failed == nil && string(content) != args[3] {
			failed = fmt.Errorf("the object contains %q, want %q", content, args[3])
		}
		err = failed
	case "gone":
		_, err = service.Objects.Get(link[2], args[2]).Do()
		var refusal *googleapi.Error
		if errors.As(err, &refusal) && refusal.Code == http.StatusNotFound {
			return nil
		}
		if err == nil {
			err = errors.New("the object exists")
		}
	default:
		err = fmt.Errorf("unknown verb %q", args[0])
	}
	return err
}

// tryConfigMap: eventually DURATION configmap KUBECONFIG NAMESPACE NAME — reads a ConfigMap and sets a variable for each of
// its keys.
func tryConfigMap(ts *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	found, err := client.CoreV1().ConfigMaps(args[1]).Get(context.Background(), args[2], metav1.GetOptions{})
	if err != nil {
		return err
	}
	for key, value := range found.Data {
		ts.Setenv(key, value)
	}
	return nil
}
