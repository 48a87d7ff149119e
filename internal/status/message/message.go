// Package message turns errors of Flux, the API server and Pulumi into one line that names the object or file to correct.
package message

import (
	"fmt"
	"regexp"
	"strings"
)

// OneLine replaces each sequence of white space, line ends included, by one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Messages of Flux and the API server about a failed apply.
var (
	// folder matches the temporary build folder of kustomize-controller. Users cannot read it.
	folder = regexp.MustCompile(`(?:/[^\s':]*)?/kustomization-\d+/`)
	// badYAML matches the error about a file that is not valid YAML.
	badYAML = regexp.MustCompile(`MalformedYAMLError: yaml: (?:line (\d+): )?(.*?) in File: (\S+)`)
	// noFile matches the error about a missing file that kustomization.yaml names.
	noFile = regexp.MustCompile(`accumulating resources from '([^']+)': open [^:]*: no such file or directory`)
	// noFolder matches the error about a path of a sync that does not exist in its source.
	noFolder = regexp.MustCompile(`kustomization path not found: stat (\S+): no such file or directory`)
	// registered matches the error about two objects with the same kind and name: the file, the kind with its version and
	// group, and the name, which may have a namespace.
	registered = regexp.MustCompile(`may not add resource with an already registered id: (\w+)\.\S*?/([^.\s]+(?:\.[^.\s\[]+)*)\.\[(\S*?)\]`)
	// accumulating matches the file of an error.
	accumulating = regexp.MustCompile(`accumulating resources from '([^']+)'`)
	// dryRun matches the error about an object that the API server rejected. Flux then applies none of the objects.
	dryRun = regexp.MustCompile(`^(\w+)/(?:([^/\s]+)/)?(\S+) (?:dry-run|apply) failed(?: \((\w+)\))?: (.*)$`)
	// refused matches an admission policy's denial.
	refused = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$`)
	// undeclared matches the error about a field that the object's kind does not have.
	undeclared = regexp.MustCompile(`failed to create typed patch object \([^)]*\): (\S+): field not declared in schema`)
	// noSuchKind matches the error about a kind that the cluster does not serve.
	noSuchKind = regexp.MustCompile(`no matches for kind "(\w+)" in version "([^"]+)"`)
	// noPermission matches the error about an account without the required permission.
	noPermission = regexp.MustCompile(`User "system:serviceaccount:([^:"]+):([^"]+)" cannot (\w+) resource "([^"]+)"`)
)

const (
	// noParameters is the API server's message if it has not discovered the kind of a policy's parameters yet.
	noParameters = "failed to find resource referenced by paramKind"
	// noSchema is its message if it has not read the schema of a new kind for the mutating policies yet. It reads the
	// schemas every five seconds.
	noSchema = "There can be a delay between when CustomResourceDefinitions are created and when they are available"
)

// TooEarly reports whether an apply failed because the API server does not serve a kind yet, or does not know it well
// enough for its policies. The same apply may succeed a moment later.
func TooEarly(message string) bool {
	return strings.Contains(message, noParameters) || strings.Contains(message, noSchema) || noSuchKind.MatchString(message)
}

// Build returns one line about a failed build of a repository: which file is broken, and why.
func Build(message string) string {
	if m := badYAML.FindStringSubmatch(message); m != nil {
		if m[1] == "" {
			return fmt.Sprintf("%s is not valid YAML: %s", m[3], m[2])
		}
		// kustomize parses each document of a file separately, so it counts lines from the document's beginning.
		return fmt.Sprintf("%s is not valid YAML: %s (near line %s of one of its documents)", m[3], m[2], m[1])
	}
	if m := noFile.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("kustomization.yaml lists %s, which does not exist", m[1])
	}
	if m := registered.FindStringSubmatch(message); m != nil {
		file := "the folder"
		if at := accumulating.FindStringSubmatch(message); at != nil {
			file = at[1]
		}
		return fmt.Sprintf("%s contains %s %s a second time: rename or remove one of the two", file, m[1], m[2])
	}
	message = folder.ReplaceAllString(message, "")
	if m := noFolder.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("the repository has no folder %s", m[1])
	}
	for _, prefix := range []string{"kustomize build failed: ", "accumulating resources: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return message
}

// Apply returns one line about a failed apply: which object the API server rejected, and why. what says what to do.
func Apply(message string) (why, what string) {
	m := dryRun.FindStringSubmatch(OneLine(message))
	if m == nil {
		return OneLine(message), "correct it and push"
	}
	object, reason := m[1]+" "+strings.TrimPrefix(m[2]+"/"+m[3], "/"), m[5]
	if strings.Contains(message, noParameters) {
		return object + " cannot be checked: the cluster does not know the kind of a policy's parameters yet", "wait: Flux tries again"
	}
	if strings.Contains(message, noSchema) {
		return object + " cannot be completed: the cluster does not know the schema of its kind yet", "wait: Flux tries again"
	}
	if p := refused.FindStringSubmatch(reason); p != nil {
		return fmt.Sprintf("admission policy %s rejects %s: %s", p[1], object, p[2]), "correct it and push"
	}
	if f := undeclared.FindStringSubmatch(reason); f != nil {
		return fmt.Sprintf("%s: its kind has no field %s", object, strings.TrimPrefix(f[1], ".")), "correct the field and push"
	}
	if k := noSuchKind.FindStringSubmatch(reason); k != nil {
		return fmt.Sprintf("%s: the cluster knows no kind %s of %s", object, k[1], k[2]), "correct kind and apiVersion and push"
	}
	if f := noPermission.FindStringSubmatch(reason); f != nil {
		return fmt.Sprintf("%s is refused: the account %s/%s may not %s %s", object, f[1], f[2], f[3], f[4]), "remove it and push"
	}
	return object + " is refused: " + reason, "correct it and push"
}

// unprotect matches Pulumi's advice to run its own command.
var unprotect = regexp.MustCompile(`(?i)[.,;:]?\s*To unprotect (?:this|the) resource\b.*$`)

// Destroy returns one line about a failed destroy of a Stack. It leaves out Pulumi's advice to run its own command: users of
// Strata cannot, because the operator holds the state.
func Destroy(message string) string { return unprotect.ReplaceAllString(OneLine(message), "") }

// DeniedAccount returns the account in the API server's error about a missing permission. found is false for other
// messages.
func DeniedAccount(message string) (namespace, name string, found bool) {
	match := noPermission.FindStringSubmatch(message)
	if match == nil {
		return "", "", false
	}
	return match[1], match[2], true
}
