package cloud_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/test/bench/figure"
)

const (
	callsPerSecond = 200
	callsDuration  = 20 * time.Second

	tokenPath = "/token"
)

// BenchmarkCalls measures calls of all APIs, four reads to one write, at a fixed rate. A call begins at its time even
// if earlier calls are in progress. Its latency counts from that time.
func BenchmarkCalls(b *testing.B) {
	l := newLoad(b)
	latencies := make([]time.Duration, callsPerSecond*int(callsDuration/time.Second))
	var calls sync.WaitGroup
	start := time.Now()
	for i := range latencies {
		due := start.Add(time.Duration(i) * time.Second / callsPerSecond)
		<-time.After(time.Until(due))
		calls.Go(func() {
			l.call(i)
			latencies[i] = time.Since(due)
		})
	}
	calls.Wait()
	slices.Sort(latencies)
	milliseconds := func(share float64) float64 {
		return float64(latencies[int(share*float64(len(latencies)-1))]) / float64(time.Millisecond)
	}
	figure.AtMost(b, "emulated Google Cloud at 200 calls a second, median", milliseconds(0.5), 0, "ms")
	figure.AtMost(b, "emulated Google Cloud at 200 calls a second, p95", milliseconds(0.95), 5, "ms")
}

// load is a filled project and the calls on it.
type load struct {
	*emulator
	client        *http.Client
	token         string
	reads, writes []request
	form          string // requests a token
}

// request is one call. %d in its path or body stands for the number of the call.
type request struct{ method, path, body string }

// call makes the call with a number and reads the response.
func (l *load) call(number int) {
	of := l.reads
	if number%5 == 0 {
		of = l.writes
	}
	r := of[number/5%len(of)]
	if number%5 != 0 {
		r = of[rand.IntN(len(of))]
	}
	body, kind := strings.ReplaceAll(r.body, "%d", fmt.Sprint(number)), "application/json"
	if r.path == tokenPath {
		body, kind = l.form, "application/x-www-form-urlencoded"
	}
	asked, err := http.NewRequestWithContext(l.t.Context(), r.method, l.url+strings.ReplaceAll(r.path, "%d", fmt.Sprint(number)), strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return
	}
	asked.Header.Set("Content-Type", kind)
	asked.Header.Set("Authorization", "Bearer "+l.token)
	answer, err := l.client.Do(asked)
	if err != nil {
		l.t.Error(err)
		return
	}
	defer answer.Body.Close()
	reply, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		l.t.Errorf("%s %s: %s %s %v", r.method, r.path, answer.Status, reply, err)
	}
}

// newLoad fills a project. One binding among many gives the caller its permissions.
func newLoad(b *testing.B) *load {
	b.Helper()
	const busy = 64
	l := &load{emulator: newEmulator(b, true), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: busy}}}
	owner := l.owner()
	l.newInstance(owner, &sqladmin.Settings{})
	l.newBucket(l.storageAs(l.engineer), "strata-load")
	op, err := owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "app", Host: "%", Password: "first"}).Do()
	l.waitSQL(owner, op, err)
	_, err = owner.container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{
		Cluster: &container.Cluster{Name: "strata", InitialNodeCount: 1},
	}).Do()
	if err != nil {
		b.Fatal(err)
	}
	policy, err := owner.projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		b.Fatal(err)
	}
	for i := range 50 {
		made, err := owner.iam.Projects.ServiceAccounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: fmt.Sprintf("account-%d", i)}).Do()
		if err != nil {
			b.Fatal(err)
		}
		for _, role := range []string{"roles/viewer", "roles/cloudsql.client", "roles/storage.objectViewer"} {
			policy.Bindings = append(policy.Bindings, &crm.Binding{Role: role, Members: []string{"serviceAccount:" + made.Email}})
		}
	}
	if _, err := owner.projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy}).Do(); err != nil {
		b.Fatal(err)
	}
	_, key := l.account("caller", "roles/viewer", "roles/iam.serviceAccountAdmin", "roles/cloudsql.admin", "roles/container.admin", "roles/storage.admin")
	l.token = l.emulator.token(key)
	l.form = url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {newSigner(b, key).sign(nil, nil)},
	}.Encode()
	const (
		project = "/cloudresourcemanager/v1/projects/" + projectID
		account = "/iam/v1/projects/" + projectID + "/serviceAccounts/account-7@" + projectID + ".iam.gserviceaccount.com"
		cluster = "/container/v1beta1/" + parent + "/clusters/strata"
		sql     = "/sqladmin/sql/v1beta4/projects/" + projectID + "/instances/strata"
		bucket  = "/storage/storage/v1/b/strata-load"
	)
	l.reads = []request{
		{"GET", project, ""}, {"POST", project + ":getIamPolicy", "{}"},
		{"POST", project + ":testIamPermissions", `{"permissions":["cloudsql.instances.get","storage.buckets.get"]}`},
		{"GET", account, ""}, {"GET", account + "/keys", ""}, {"POST", account + ":getIamPolicy", ""},
		{"GET", "/iam/v1/projects/" + projectID + "/serviceAccounts", ""},
		{"GET", cluster, ""}, {"GET", cluster + "/nodePools", ""},
		{"GET", sql, ""}, {"GET", sql + "/users", ""}, {"GET", sql + "/databases", ""},
		{"GET", "/serviceusage/v1/projects/" + projectID + "/services?filter=state:ENABLED", ""},
		{"GET", bucket, ""}, {"GET", bucket + "/o?prefix=o", ""},
	}
	l.writes = []request{
		{"PATCH", account, `{"serviceAccount":{"displayName":"Account %d"},"updateMask":"displayName"}`},
		{"POST", account + ":setIamPolicy", `{"policy":{"bindings":[{"role":"roles/iam.serviceAccountUser","members":["user:u%d@example.com"]}]}}`},
		{"POST", "/storage/upload/storage/v1/b/strata-load/o?uploadType=media&name=o%d", strings.Repeat("content ", 128)},
		{"PATCH", bucket, `{"labels":{"call":"c%d"}}`},
		{"POST", tokenPath, ""},
	}
	return l
}
