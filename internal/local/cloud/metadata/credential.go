package metadata

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// credential returns the account and the kind of credential in a path such as
// instance/service-accounts/default/token. ok is false for other paths, and for accounts that are not the pod's own.
func (n Node) credential(path string, of Workload) (account Workload, kind string, ok bool) {
	rest, ok := strings.CutPrefix(path, "instance/service-accounts/")
	name, kind, named := strings.Cut(rest, "/")
	if !ok || !named || kind != "token" && kind != "identity" || n.Pool == "" || name != "default" && name != n.email(of) {
		return Workload{}, "", false
	}
	return of, kind, true
}

// longestScopes is the maximum length of the parameter scopes in bytes. The emulator stores the scopes of each token.
const longestScopes = 4096

// serveCredential answers a request for an access token or an ID token.
func (h *handler) serveCredential(w http.ResponseWriter, r *http.Request, of Workload, kind string) {
	// No cache may keep a credential.
	w.Header().Set("Cache-Control", "no-store")
	if kind == "identity" {
		h.serveIDToken(w, r, of)
		return
	}
	scopes := defaultScopes
	if text := r.URL.Query().Get("scopes"); len(text) > longestScopes {
		writeError(w, http.StatusBadRequest, "The parameter scopes is too long.")
		return
	} else if text != "" {
		scopes = strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
		slices.Sort(scopes)
		scopes = slices.Compact(scopes)
	}
	token, err := h.Cloud.AccessToken(r.Context(), of, scopes)
	if err != nil {
		writeRefusal(w, "access", err)
		return
	}
	data, err := json.Marshal(map[string]any{
		"access_token": token.Value, "expires_in": int(time.Until(token.Expires).Seconds()), "token_type": "Bearer",
	})
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, "application/json", string(data))
}

// serveIDToken answers a request for an ID token. The parameters format and licenses, which add claims about a virtual
// machine, have no effect, as on Kubernetes Engine.
func (h *handler) serveIDToken(w http.ResponseWriter, r *http.Request, of Workload) {
	audience := r.URL.Query().Get("audience")
	switch {
	case audience == "":
		writeError(w, http.StatusBadRequest, "The parameter audience is required.")
		return
	case of.GoogleAccount == "":
		writeError(w, http.StatusNotFound, "Your Kubernetes service account ("+of.Namespace+"/"+of.Account+") has no Google service account, which "+
			"identity tokens require. Add the annotation iam.gke.io/gcp-service-account=[NAME]@[PROJECT].iam.gserviceaccount.com to it.")
		return
	}
	token, err := h.Cloud.IDToken(r.Context(), of, audience)
	if err != nil {
		writeRefusal(w, "identity", err)
		return
	}
	write(w, "application/text", token)
}

// writeRefusal tells a pod why it gets no token. An error of IAM has the form of Kubernetes Engine's metadata server, as
// in https://github.com/camunda/camunda/issues/31106.
func writeRefusal(w http.ResponseWriter, kind string, err error) {
	var told *api.Error
	switch {
	case !errors.As(err, &told):
		writeError(w, http.StatusInternalServerError, "Unable to generate "+kind+" token: "+api.Printable(err.Error())+". Retry.")
	case told.Code == http.StatusForbidden:
		writeError(w, told.Code, "Unable to generate "+kind+" token; IAM returned 403 Forbidden: "+told.Message+"\n"+
			"This error could be caused by a missing IAM policy binding on the target IAM service account.\n"+
			"For more information, refer to the Workload Identity documentation:\n"+
			"\thttps://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity#authenticating_to\n")
	default:
		writeError(w, told.Code, told.Message)
	}
}
