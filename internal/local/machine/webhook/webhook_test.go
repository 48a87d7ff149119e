package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/local/machine/webhook"
)

const (
	token      = "s3cret-canary"
	repository = "http://127.0.0.1:3000/web.git"
)

func address(name string) string { return "http://127.0.0.1:3000/" + name + ".git" }

// cluster plays the API server, with these Receivers, and notification-controller.
type cluster struct {
	receivers []notificationv1.Receiver
	// answers are the statuses of the next webhook calls. Later calls get 200.
	answers []int
	absent  bool

	api, hook *httptest.Server
	mu        sync.Mutex
	told      []string
}

func newCluster(t *testing.T, receivers ...notificationv1.Receiver) *cluster {
	c := &cluster{receivers: receivers}
	c.api = httptest.NewServer(http.HandlerFunc(c.serveAPI))
	c.hook = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serveHook(t, w, r) }))
	t.Cleanup(c.api.Close)
	t.Cleanup(c.hook.Close)
	return c
}

func (c *cluster) serveAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any
	switch {
	case strings.HasSuffix(r.URL.Path, "/receivers") && c.receivers != nil:
		answer = notificationv1.ReceiverList{
			TypeMeta: metav1.TypeMeta{APIVersion: notificationv1.GroupVersion.String(), Kind: "ReceiverList"}, Items: c.receivers,
		}
	case strings.HasSuffix(r.URL.Path, "/secrets/web-webhook"):
		answer = corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{"token": []byte(token)}}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *cluster) serveHook(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); err != nil || r.Method != http.MethodPost || r.Header.Get("X-Signature") != want {
		t.Errorf("the signature of %s %q is %q, want %q", r.Method, body, r.Header.Get("X-Signature"), want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, r.URL.Path)
	if len(c.answers) > 0 {
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
	}
}

func (c *cluster) Admin() *rest.Config {
	if c.absent {
		return nil
	}
	return &rest.Config{Host: c.api.URL}
}

func (c *cluster) DialService(namespace, service string, port int32) (net.Conn, error) {
	if namespace != fluxcd.Namespace || service != "webhook-receiver" || port != 80 {
		return nil, fmt.Errorf("there is no %s/%s:%d", namespace, service, port)
	}
	return net.Dial("tcp", c.hook.Listener.Addr().String())
}

func receiver(change func(*notificationv1.Receiver)) notificationv1.Receiver {
	r := notificationv1.Receiver{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-web", Name: "web", Annotations: map[string]string{fluxcd.RepositoriesAnnotation: address("shop") + " " + repository},
		},
		Spec: notificationv1.ReceiverSpec{Type: notificationv1.GenericHMACReceiver, SecretRef: &meta.LocalObjectReference{Name: "web-webhook"}},
	}
	change(&r)
	return r
}

func asMade(*notificationv1.Receiver) {}

func TestSendNotifiesTheReceiversOfTheRepository(t *testing.T) {
	other := receiver(func(r *notificationv1.Receiver) { r.Name = "second" })
	c := newCluster(t, receiver(asMade), other,
		receiver(func(r *notificationv1.Receiver) { r.Name, r.Annotations = "else", nil }),
		receiver(func(r *notificationv1.Receiver) {
			r.Name, r.Annotations = "longer", map[string]string{fluxcd.RepositoriesAnnotation: repository + "x"}
		}),
		receiver(func(r *notificationv1.Receiver) { r.Name, r.Spec.Suspend = "suspended", true }),
		receiver(func(r *notificationv1.Receiver) {
			r.Name, r.DeletionTimestamp = "leaving", &metav1.Time{Time: time.Now()}
		}),
	)
	c.answers = []int{http.StatusServiceUnavailable, http.StatusNotFound}
	if err := webhook.New(t.Context(), c, address, slog.New(slog.DiscardHandler)).Send(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	web := receiver(asMade)
	want := []string{web.GetWebhookPath(token), other.GetWebhookPath(token)}
	slices.Sort(want)
	got := slices.Compact(slices.Sorted(slices.Values(c.told)))
	if !slices.Equal(got, want) || len(c.told) != 4 {
		t.Errorf("told were %q, want %q, each once more after it was not ready", c.told, want)
	}
}

func TestSendDoesNothingWithoutAClusterOrFlux(t *testing.T) {
	c := newCluster(t)
	sender := webhook.New(t.Context(), c, address, slog.New(slog.DiscardHandler))
	if err := sender.Send(t.Context(), "web"); err != nil {
		t.Errorf("without Flux: %v", err)
	}
	c.absent = true
	if err := sender.Send(t.Context(), "web"); err != nil {
		t.Errorf("without a cluster: %v", err)
	}
}

func TestSendNamesUnreachedReceivers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"a receiver that refuses": {
			func(c *cluster) { c.answers = []int{http.StatusBadRequest} },
			"notify Receiver team-web/web: notification-controller answers 400 Bad Request: its log says why",
		},
		"a receiver of another forge": {
			func(c *cluster) { c.receivers[0].Spec.Type = "github" }, "notify Receiver team-web/web: its type is github: this Git server supports only generic-hmac",
		},
		"no API server": {func(c *cluster) { c.api.Close() }, "list Receivers: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, receiver(asMade))
			test.change(c)
			err := webhook.New(t.Context(), c, address, slog.New(slog.DiscardHandler)).Send(t.Context(), "web")
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("the error is %v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "/hook/") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

// unready is a cluster whose notification-controller never becomes ready.
type unready struct{ *cluster }

func (unready) DialService(string, string, int32) (net.Conn, error) {
	return nil, fmt.Errorf("no ready pod serves port 80")
}

func TestSendEndsIfAReceiverNeverListens(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c := unready{newCluster(t, receiver(asMade))}
	err := webhook.New(ctx, c, address, slog.New(slog.DiscardHandler)).Send(ctx, "web")
	if err == nil || !strings.Contains(err.Error(), "notify Receiver team-web/web: ") || !strings.HasSuffix(err.Error(), "no ready pod serves port 80") {
		t.Errorf("the error is %v", err)
	}
}

// slow is a cluster that answers only when the test allows it.
type slow struct {
	asked chan struct{}
	let   chan struct{}
}

func (s slow) Admin() *rest.Config {
	s.asked <- struct{}{}
	<-s.let
	return nil
}

func (slow) DialService(string, string, int32) (net.Conn, error) { return nil, io.EOF }

func TestPushesDuringANotificationCauseOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slow{make(chan struct{}), make(chan struct{})}
		sender := webhook.New(t.Context(), c, address, slog.New(slog.DiscardHandler))
		sender.Pushed("web")
		<-c.asked
		for range 5 {
			sender.Pushed("web")
		}
		c.let <- struct{}{}
		<-c.asked
		c.let <- struct{}{}
		synctest.Wait()
		select {
		case <-c.asked:
			t.Error("pushes that came at the same time were told one by one")
		default:
		}
		sender.Pushed("web")
		<-c.asked
		c.let <- struct{}{}
		synctest.Wait()
	})
}
