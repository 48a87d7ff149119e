package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The guest is this test binary as a program of the catalogue. Its first argument selects the behaviour.
const (
	guestRepository = "example.com/guest"
	guestImage      = guestRepository + ":v1"
	// This image has the same program under another name.
	otherGuestRepository = "example.com/other-guest"
	otherGuestImage      = otherGuestRepository + ":v1"
	guestVariable        = "NODE_TEST_GUEST"
	guestPort            = 8080
	guestFailed          = 7
)

// guest returns a container that runs the guest.
func guest(args ...string) corev1.Container {
	return corev1.Container{Name: "guest", Image: guestImage, Args: args}
}

func playGuest(args []string) error {
	asked := make(chan os.Signal, 1)
	listen := strings.TrimPrefix(args[len(args)-1], "--listen=")
	switch args[0] {
	case "confess":
		fmt.Println("starting")
		return errors.New("the configuration is wrong")
	case "crash":
		return errors.New("the configuration is wrong")
	case "abort":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "flaky":
		if _, err := os.Stat(args[1]); err == nil {
			return nil
		}
		return errors.Join(os.WriteFile(args[1], nil, 0o600), errors.New("the first try fails"))
	case "end":
		return nil
	case "say":
		fmt.Println(args[1])
		return nil
	case "tick":
		signal.Notify(asked, syscall.SIGTERM)
		tick(asked)
		return nil
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		signal.Notify(asked, syscall.SIGUSR1)
		fmt.Println("ready")
	case "report":
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println(report(args))
	case "ask":
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println(askAPI())
	case "serve":
		return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, os.Getenv("HOSTNAME"), " was asked for ", r.URL.Path)
		}))
	case "fetch":
		return fetch(args[1], 1)
	case "fetch-until":
		n, err := strconv.Atoi(args[2])
		return errors.Join(err, fetch(args[1], n))
	case "journal":
		signal.Notify(asked, syscall.SIGTERM)
		if err := note(args[1], args[2]+" begins"); err != nil {
			return err
		}
		if args[3] == "forever" {
			<-asked
		}
		return note(args[1], args[2]+" ends")
	default:
		return fmt.Errorf("the guest cannot %s", args[0])
	}
	<-asked
	return nil
}

// tick prints its PID and then numbered lines until SIGTERM.
func tick(asked <-chan os.Signal) {
	fmt.Println("pid", os.Getpid())
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for i := 1; ; i++ {
		fmt.Println("tick", i)
		select {
		case <-asked:
			fmt.Println("goodbye")
			return
		case <-ticker.C:
		}
	}
}

// report returns one line of JSON with the guest's arguments, variables and working directory.
func report(args []string) string {
	seen := guestReport{Args: args, Env: map[string]string{}}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		seen.Env[name] = value
	}
	seen.Dir, _ = os.Getwd()
	raw, err := json.Marshal(seen)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

type guestReport struct {
	Args []string
	Env  map[string]string
	Dir  string
}

// argument returns the first argument with a prefix.
func argument(args []string, prefix string) string {
	for _, a := range args {
		if strings.HasPrefix(a, prefix) {
			return a
		}
	}
	return "no argument " + prefix
}

// askAPI lists objects that the guest may list and objects that it may not, as the pod's service account.
func askAPI() string {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err.Error()
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err.Error()
	}
	ctx, namespace := context.Background(), os.Getenv("NAMESPACE")
	_, configMaps := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	_, secrets := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(secrets) {
		return fmt.Sprintf("secrets are not forbidden: %v", secrets)
	}
	return fmt.Sprintf("config maps: %v; %v", configMaps, secrets)
}

// note appends a line to a journal.
func note(journal, line string) error {
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// fetch sends requests to a server until it has got a number of different answers.
func fetch(url string, answers int) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for seen := map[string]bool{}; len(seen) < answers; {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		if !seen[string(body)] {
			fmt.Println(string(body))
		}
		seen[string(body)] = true
	}
	return nil
}
