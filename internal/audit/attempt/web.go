package attempt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
)

// mostAnswer is the maximum number of bytes of an HTTP answer that the audit reads.
const mostAnswer = 1 << 20

// connections is the number of connections to a host that stay open for the next attempt.
const connections = 32

// client follows no redirect: another host might answer.
var client = &http.Client{
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: connections},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends a request, and returns the answer's code and body.
func send(request *http.Request) (code int, body []byte, header http.Header, err error) {
	response, err := client.Do(request)
	if err != nil {
		// The error of a request names its address, which may contain nothing secret: logins are in headers.
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	return response.StatusCode, body, response.Header, err
}

// answered turns an HTTP answer into that of an attempt. by is the part that answers.
func answered(by string, code int, body []byte, err error) audit.Answer {
	text := strings.TrimSpace(string(body))
	switch {
	case err != nil:
		return audit.Answer{Err: err}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return audit.Answer{By: by, Message: text}
	case code < http.StatusMultipleChoices, code == http.StatusNotFound:
		// A server that checks rights first answers "not found" only to those who may look.
		return audit.Answer{Allowed: true}
	}
	return audit.Answer{Err: fmt.Errorf("the answer is %d %s: %s", code, http.StatusText(code), text)}
}

// Google sends a request to a Google API. An empty token sends none. Only calls that read are for this function.
func Google(ctx context.Context, token, method, address, body string) audit.Answer {
	code, raw, err := google(ctx, token, method, address, body)
	var problem struct{ Error struct{ Message string } }
	if decode(raw, &problem) && problem.Error.Message != "" {
		raw = []byte(problem.Error.Message)
	}
	return answered("IAM", code, raw, err)
}

func google(ctx context.Context, token, method, address, body string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewBufferString(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	code, raw, _, err := send(request)
	return code, raw, err
}

// Permission asks Google's IAM whether the holder of a token has a permission on the resource at an address. Google answers with the
// permissions that the caller has, so the question changes nothing.
func Permission(ctx context.Context, token, address, permission string) audit.Answer {
	code, raw, err := google(ctx, token, http.MethodPost, address+":testIamPermissions", fmt.Sprintf(`{"permissions": [%q]}`, permission))
	if answer := answered("IAM", code, raw, err); !answer.Allowed {
		return answer
	}
	if code != http.StatusOK {
		return audit.Answer{Err: fmt.Errorf("the resource does not exist: %s", raw)}
	}
	var held struct{ Permissions []string }
	if !decode(raw, &held) {
		return audit.Answer{Err: fmt.Errorf("IAM's answer is not JSON")}
	}
	if slices.Contains(held.Permissions, permission) {
		return audit.Answer{Allowed: true}
	}
	return audit.Answer{By: "IAM", Message: "the permission " + permission + " is missing"}
}

// Git begins a fetch or a push, as git does: the server authorises the first request of either. It ends there.
func Git(ctx context.Context, server, repository, login, password string, push bool) audit.Answer {
	service := "git-upload-pack"
	if push {
		service = "git-receive-pack"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/"+url.PathEscape(repository)+".git/info/refs?service="+service, http.NoBody)
	if err != nil {
		return audit.Answer{Err: err}
	}
	if login != "" {
		request.SetBasicAuth(login, password)
	}
	code, body, _, err := send(request)
	return answered("Git server", code, body, err)
}

// Pull reads the tags of a repository of a registry.
func Pull(ctx context.Context, registry, repository, login, password string) audit.Answer {
	code, body, _, err := registryCall(ctx, http.MethodGet, registry+"/v2/"+repository+"/tags/list", login, password)
	return answered("registry", code, body, err)
}

// Push begins an upload to a repository of a registry, and cancels it.
func Push(ctx context.Context, registry, repository, login, password string) audit.Answer {
	code, body, header, err := registryCall(ctx, http.MethodPost, registry+"/v2/"+repository+"/blobs/uploads/", login, password)
	if err == nil && code == http.StatusAccepted {
		begun, parseErr := url.Parse(header.Get("Location"))
		base, baseErr := url.Parse(registry)
		if parseErr == nil && baseErr == nil {
			// The upload ends even if the audit is interrupted now.
			_, _, _, err = registryCall(context.WithoutCancel(ctx), http.MethodDelete, base.ResolveReference(begun).String(), login, password)
		}
	}
	return answered("registry", code, body, err)
}

func registryCall(ctx context.Context, method, address, login, password string) (int, []byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return 0, nil, nil, err
	}
	if login != "" {
		request.SetBasicAuth(login, password)
	}
	return send(request)
}

// Fetch calls a Google API, and returns the body of a successful answer. Only calls that read are for this function.
func Fetch(ctx context.Context, token, method, address string) ([]byte, error) {
	code, raw, err := google(ctx, token, method, address, "{}")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, address, code, http.StatusText(code))
	}
	return raw, err
}
