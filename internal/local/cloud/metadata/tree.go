package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// entry is a folder or a value of the metadata.
type entry struct {
	folder map[string]*entry
	value  any // a string, a number or a list of strings
	// jsonName is the name in recursive answers, if it differs. Compute Engine's JSON has names in camel case.
	jsonName string
}

func (e *entry) isFolder() bool { return e.folder != nil }

func folder(entries map[string]*entry) *entry { return &entry{folder: entries} }

func value(v any) *entry { return &entry{value: v} }

// as sets the name in recursive answers.
func (e *entry) as(name string) *entry {
	e.jsonName = name
	return e
}

// find returns the entry at a path, or nil.
func (e *entry) find(path string) *entry {
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if name == "" && path == "" {
			break
		}
		if e = e.folder[name]; e == nil {
			return nil
		}
	}
	return e
}

// defaultScopes are the scopes of a token for which a client names none.
var defaultScopes = []string{"https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/userinfo.email"}

// email returns the e-mail address of a pod's account, as clients see it. Kubernetes Engine shows the name of the pool for
// an account without a Google account.
func (n Node) email(of Workload) string {
	if of.GoogleAccount == "" {
		return n.Pool
	}
	return of.GoogleAccount
}

// tree returns the metadata that a pod sees, without its tokens.
func (n Node) tree(of Workload) *entry {
	accounts := map[string]*entry{}
	if n.Pool != "" {
		email := n.email(of)
		for _, name := range []string{"default", email} {
			accounts[name] = folder(map[string]*entry{
				"aliases": value([]string{"default"}),
				"email":   value(email),
				"scopes":  value(defaultScopes),
			})
		}
	}
	return folder(map[string]*entry{
		"instance": folder(map[string]*entry{
			"attributes": folder(map[string]*entry{
				"cluster-location": value(n.Location),
				"cluster-name":     value(n.Cluster),
				"cluster-uid":      value(n.UID),
			}),
			"hostname":         value(n.Hostname),
			"id":               value(n.ID),
			"service-accounts": folder(accounts).as("serviceAccounts"),
			"zone":             value(fmt.Sprintf("projects/%d/zones/%s", n.ProjectNumber, n.Zone)),
		}),
		"project": folder(map[string]*entry{
			"numeric-project-id": value(n.ProjectNumber).as("numericProjectId"),
			"project-id":         value(n.Project).as("projectId"),
		}),
		"universe": folder(map[string]*entry{"universe-domain": value("googleapis.com").as("universeDomain")}),
	})
}

// write answers a request for the entry. The parameter recursive includes the contents of folders; alt chooses JSON or
// text. The default is JSON for recursive answers, and otherwise text.
func (e *entry) write(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	recursive := strings.EqualFold(query.Get("recursive"), "true")
	alt := query.Get("alt")
	if alt != "" && alt != "json" && alt != "text" {
		writeError(w, http.StatusBadRequest, "The parameter alt must be json or text.")
		return
	}
	if alt == "json" || alt == "" && recursive && e.isFolder() {
		data, err := json.Marshal(e.json(recursive))
		if err != nil {
			writeError(w, http.StatusInternalServerError, err.Error())
			return
		}
		write(w, "application/json", string(data))
		return
	}
	write(w, "application/text", e.text(recursive))
}

// json returns the entry as a value for JSON. A folder that is not recursive is the list of its entries.
func (e *entry) json(recursive bool) any {
	switch {
	case !e.isFolder():
		return e.value
	case !recursive:
		return e.names()
	}
	object := map[string]any{}
	for name, inner := range e.folder {
		if inner.jsonName != "" {
			name = inner.jsonName
		}
		object[name] = inner.json(true)
	}
	return object
}

// names returns the names of a folder's entries. A slash ends the name of a folder.
func (e *entry) names() []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(e.folder)) {
		if e.folder[name].isFolder() {
			name += "/"
		}
		names = append(names, name)
	}
	return names
}

// text returns the entry as text: a value, a line for each item of a list, or a line for each entry of a folder.
func (e *entry) text(recursive bool) string {
	switch v := e.value.(type) {
	case string:
		return v
	case uint64:
		return strconv.FormatUint(v, 10)
	case int64:
		return strconv.FormatInt(v, 10)
	case []string:
		return strings.Join(v, "\n") + "\n"
	}
	if recursive {
		var lines strings.Builder
		e.lines("", &lines)
		return lines.String()
	}
	return strings.Join(append(e.names(), ""), "\n")
}

// lines appends a line with the path and the text of each value below a folder.
func (e *entry) lines(path string, to *strings.Builder) {
	for _, name := range slices.Sorted(maps.Keys(e.folder)) {
		inner := e.folder[name]
		if inner.isFolder() {
			inner.lines(path+name+"/", to)
			continue
		}
		for line := range strings.Lines(inner.text(false)) {
			to.WriteString(path + name + " " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
}
