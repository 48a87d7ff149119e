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
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The guest is this test binary as a program of the catalogue. Its first argument says what it does.
const (
	guestRepository = "example.com/guest"
	guestImage      = guestRepository + ":v1"
	guestVariable   = "NODE_TEST_GUEST"
	guestPort       = 8080
	guestFailed     = 7
)

// guest is a container that runs the guest.
func guest(args ...string) corev1.Container {
	return corev1.Container{Name: "guest", Image: guestImage, Args: args}
}

func playGuest(args []string) error {
	asked := make(chan os.Signal, 1)
	listen := strings.TrimPrefix(args[len(args)-1], "--listen=")
	switch args[0] {
	case "crash":
		return errors.New("the configuration is wrong")
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
		return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "you asked for ", r.URL.Path) }))
	case "fetch":
		return fetch(args[1])
	default:
		return fmt.Errorf("the guest cannot %s", args[0])
	}
	<-asked
	return nil
}

// tick writes its process id, and then numbered lines until it is asked to end.
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

// report tells in one line of JSON what the guest sees: its arguments, variables, and the files that arguments name.
func report(args []string) string {
	seen := guestReport{Args: args, Env: map[string]string{}, Files: map[string]string{}}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		seen.Env[name] = value
	}
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "--file="); ok {
			content, err := os.ReadFile(path)
			if err != nil {
				content = []byte(err.Error())
			}
			seen.Files[path] = string(content)
		}
	}
	raw, err := json.Marshal(seen)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

type guestReport struct {
	Args  []string
	Env   map[string]string
	Files map[string]string
}

// file is the path and the content of the file that the argument --file= with this ending named.
func (r guestReport) file(ending string) (path, content string) {
	for path, content := range r.Files {
		if strings.HasSuffix(path, ending) {
			return path, content
		}
	}
	return "", "no such file was named"
}

// askAPI lists what the guest may list and what not, as the pod's service account.
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

func fetch(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(string(body))
	return err
}
