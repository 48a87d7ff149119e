// Package webhook notifies Flux of pushes, as a forge does: it posts a signed request to the Receivers of the cluster
// that name the repository.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/fluxcd"
)

const (
	// service is the Service of notification-controller's receiver in fluxcd.Namespace (Flux, "Receivers").
	service     = "webhook-receiver"
	servicePort = 80

	// patience is how long Send retries a Receiver that is not ready, every interval. After that, Flux finds the push
	// at its next regular check.
	patience       = 10 * time.Second
	interval       = 300 * time.Millisecond
	requestTimeout = 5 * time.Second
)

// Cluster is the part of a cluster that the sender needs.
type Cluster interface {
	// Admin returns the administrator's client configuration, or nil while no cluster runs.
	Admin() *rest.Config
	// DialService connects to a ready pod of a Service.
	DialService(namespace, service string, port int32) (net.Conn, error)
}

// Sender notifies Flux of pushes.
type Sender struct {
	ctx     context.Context
	cluster Cluster
	url     func(repository string) string
	log     *slog.Logger
	client  http.Client

	mu sync.Mutex
	// sending holds the repositories with a notification in progress. The value says whether there was another push
	// meanwhile.
	sending map[string]bool
}

// New returns a sender that works until ctx is done. url returns the URL of a repository in Flux's GitRepositories.
func New(ctx context.Context, cluster Cluster, url func(repository string) string, log *slog.Logger) *Sender {
	s := &Sender{ctx: ctx, cluster: cluster, url: url, log: log, sending: map[string]bool{}}
	s.client = http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return cluster.DialService(fluxcd.Namespace, service, servicePort)
		},
		DisableKeepAlives: true, // The next push may need another pod.
	}}
	return s
}

// Pushed notifies Flux of a push in the background. For pushes during a notification, it sends one more notification
// afterwards. It logs errors.
func (s *Sender) Pushed(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, busy := s.sending[repository]
	s.sending[repository] = busy
	if !busy {
		go s.work(repository)
	}
}

// work notifies Flux of a push, and again if there was another push meanwhile.
func (s *Sender) work(repository string) {
	for {
		if err := s.Send(s.ctx, repository); err != nil && s.ctx.Err() == nil {
			s.log.Warn("cannot notify Flux of a push; Flux finds the commit at its next check", "repository", repository, "error", err)
		}
		s.mu.Lock()
		if again := s.sending[repository]; !again {
			delete(s.sending, repository)
			s.mu.Unlock()
			return
		}
		s.sending[repository] = false
		s.mu.Unlock()
	}
}

// Send notifies each Receiver of the repository of a push. Without a cluster, or without Flux in it, Send does
// nothing.
func (s *Sender) Send(ctx context.Context, repository string) error {
	config := s.cluster.Admin()
	if config == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	receivers, err := s.find(ctx, config, s.url(repository))
	if err != nil {
		return err
	}
	// The client is new for each push, because a new cluster has other credentials.
	secrets, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"repository": s.url(repository)})
	if err != nil {
		return err
	}
	results := make([]error, len(receivers))
	var group sync.WaitGroup
	for i, r := range receivers {
		group.Go(func() {
			if err := s.notify(ctx, secrets, r, body); err != nil {
				results[i] = fmt.Errorf("notify Receiver %s/%s: %w", r.Namespace, r.Name, err)
			}
		})
	}
	group.Wait()
	var failures []string
	for _, err := range results {
		if err != nil {
			failures = append(failures, err.Error())
		}
	}
	if len(failures) > 0 {
		return errors.New(strings.Join(failures, "; "))
	}
	return nil
}

// find returns the Receivers whose annotation contains a repository's URL. It omits suspended and terminating ones.
func (s *Sender) find(ctx context.Context, config *rest.Config, address string) ([]notificationv1.Receiver, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(notificationv1.GroupVersion.WithResource("receivers")).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // Flux is not installed yet.
	}
	if err != nil {
		return nil, fmt.Errorf("list Receivers: %w", err)
	}
	var found []notificationv1.Receiver
	for _, item := range list.Items {
		urls := strings.Fields(item.GetAnnotations()[fluxcd.RepositoriesAnnotation])
		if item.GetDeletionTimestamp() != nil || !slices.Contains(urls, address) {
			continue
		}
		var r notificationv1.Receiver
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &r); err != nil {
			return nil, fmt.Errorf("read Receiver %s/%s: %w", item.GetNamespace(), item.GetName(), err)
		}
		if !r.Spec.Suspend {
			found = append(found, r)
		}
	}
	return found, nil
}

// notify posts to a Receiver, and retries until the Receiver accepts the request or ctx is done.
func (s *Sender) notify(ctx context.Context, secrets kubernetes.Interface, r notificationv1.Receiver, body []byte) error {
	if r.Spec.Type != notificationv1.GenericHMACReceiver {
		return fmt.Errorf("its type is %s: this Git server supports only %s", r.Spec.Type, notificationv1.GenericHMACReceiver)
	}
	// last is the error of the last attempt. The error of the poll says only that time is up.
	var last error
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		secret, err := secrets.CoreV1().Secrets(r.Namespace).Get(ctx, r.Spec.SecretRef.Name, metav1.GetOptions{})
		if err != nil {
			last = err
			return false, nil
		}
		token := string(secret.Data["token"])
		var retry bool
		retry, last = s.post(ctx, r.GetWebhookPath(token), []byte(token), body)
		if last != nil && !retry {
			return false, last
		}
		return last == nil, nil
	})
	if wait.Interrupted(err) && last != nil {
		return fmt.Errorf("after %s: %w", patience, last)
	}
	return err
}

// post sends one signed request. retry says whether a retry may help.
func (s *Sender) post(ctx context.Context, path string, token, body []byte) (retry bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+service+"."+fluxcd.Namespace+path, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the webhook path in its status is not valid")
	}
	// notification-controller verifies a Receiver of type generic-hmac by this signature (Flux, "Receivers").
	mac := hmac.New(sha256.New, token)
	mac.Write(body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := s.client.Do(request)
	if err != nil {
		// The URL in net/http's error ends in the path, which is a secret.
		if full, ok := errors.AsType[*url.Error](err); ok {
			err = full.Err
		}
		return true, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	switch response.StatusCode {
	case http.StatusOK:
		return false, nil
	case http.StatusNotFound, http.StatusServiceUnavailable: // The Receiver is unknown or not ready yet.
		return true, fmt.Errorf("notification-controller answers %s", response.Status)
	}
	return false, fmt.Errorf("notification-controller answers %s: its log says why", response.Status)
}
