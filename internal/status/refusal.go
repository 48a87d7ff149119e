package status

import (
	"fmt"
	"regexp"
	"strings"
)

// Messages of Flux and the API server about a failed apply.
var (
	// folder is the temporary build folder of kustomize-controller, which nobody can look into.
	folder = regexp.MustCompile(`(?:/[^\s':]*)?/kustomization-\d+/`)
	// badYAML matches the error about a file that is not valid YAML.
	badYAML = regexp.MustCompile(`MalformedYAMLError: yaml: (?:line (\d+): )?(.*?) in File: (\S+)`)
	// noFile matches the error about a missing file that kustomization.yaml names.
	noFile = regexp.MustCompile(`accumulating resources from '([^']+)': open [^:]*: no such file or directory`)
	// noFolder matches the error about a path of a sync that does not exist in its source.
	noFolder = regexp.MustCompile(`kustomization path not found: stat (\S+): no such file or directory`)
	// dryRun matches the error about an object that the API server refused before anything was applied.
	dryRun = regexp.MustCompile(`^(\w+)/(?:([^/\s]+)/)?(\S+) (?:dry-run|apply) failed(?: \((\w+)\))?: (.*)$`)
	// refused matches an admission policy's denial.
	refused = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$`)
	// undeclared matches the error about a field that the kind does not have.
	undeclared = regexp.MustCompile(`failed to create typed patch object \([^)]*\): (\S+): field not declared in schema`)
	noSuchKind = regexp.MustCompile(`no matches for kind "(\w+)" in version "([^"]+)"`)
)

// noParameters is the API server's message if it has not discovered the kind of a policy's parameters yet.
const noParameters = "failed to find resource referenced by paramKind"

// passes is the advice for problems that resolve themselves.
const passes = "wait: it is tried again and goes by itself"

// buildFault returns one line that says which file of a repository is broken, and why.
func buildFault(message string) string {
	if m := badYAML.FindStringSubmatch(message); m != nil {
		if m[1] == "" {
			return fmt.Sprintf("%s is no YAML: %s", m[3], m[2])
		}
		// kustomize parses each document of a file separately, so it counts lines from the document's beginning.
		return fmt.Sprintf("%s is no YAML: %s (near line %s of one of its documents)", m[3], m[2], m[1])
	}
	if m := noFile.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("kustomization.yaml names %s, and there is no such file", m[1])
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

// refusal returns one line that says which object the API server refused, and why. what says what to do, and is empty if
// why says so already.
func refusal(message string) (why, what string) {
	m := dryRun.FindStringSubmatch(oneLine(message))
	if m == nil {
		return oneLine(message), "correct it and push"
	}
	if strings.Contains(message, noParameters) {
		return m[1] + " " + strings.TrimPrefix(m[2]+"/"+m[3], "/") + " cannot be checked: the cluster does not know the kind of a policy's parameters yet", passes
	}
	object, reason := m[1]+" "+strings.TrimPrefix(m[2]+"/"+m[3], "/"), m[5]
	if p := refused.FindStringSubmatch(reason); p != nil {
		return fmt.Sprintf("%s is refused at admission (policy %s): %s", object, p[1], p[2]), "correct it and push"
	}
	if f := undeclared.FindStringSubmatch(reason); f != nil {
		return fmt.Sprintf("%s: its kind has no field %s", object, strings.TrimPrefix(f[1], ".")), "correct the field and push"
	}
	if k := noSuchKind.FindStringSubmatch(reason); k != nil {
		return fmt.Sprintf("%s: the cluster knows no kind %s of %s", object, k[1], k[2]), "correct kind and apiVersion and push"
	}
	if f := cannot.FindStringSubmatch(reason); f != nil {
		return fmt.Sprintf("%s is refused: the account %s/%s may not %s %s", object, f[1], f[2], f[3], f[4]), "take it out and push"
	}
	return object + " is refused: " + reason, "correct it and push"
}

func syncExplanations() []explanation {
	return []explanation{
		{"a commit cannot be built", func(w *world, o *object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "BuildFailed" && o.Reason != "ArtifactFailed" {
				return "", "", ""
			}
			return buildFault(o.Message) + w.untouched(o), "", "correct it and push"
		}},
		{"a commit is refused by the API server: by admission, for want of a right, or because it does not fit its kind", func(w *world, o *object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "ReconciliationFailed" {
				return "", "", ""
			}
			why, what := refusal(o.Message)
			return why + w.untouched(o), "", what
		}},
		{"what a sync applied was not healthy when it looked", func(_ *world, o *object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "HealthCheckFailed" {
				return "", "", ""
			}
			return o.Message, "", "what it names is mended or on its way, and it looks again within " +
				or(o.text("spec", "retryInterval"), o.text("spec", "interval")) + ": wait"
		}},
		{"a source cannot be fetched", func(_ *world, o *object) (string, string, string) {
			if o.progressing() || o.Kind != "GitRepository" && o.Kind != "OCIRepository" && o.Kind != "Bucket" {
				return "", "", ""
			}
			return o.Message, "", "look at " + o.text("spec", "url") + " and at the login in " + or("Secret "+o.text("spec", "secretRef", "name"), "no Secret")
		}},
		{"a Receiver does not answer", func(w *world, o *object) (string, string, string) {
			if o.Kind != "Receiver" {
				return "", "", ""
			}
			return o.Message, platformTeam, "run " + w.scope.command("up")
		}},
	}
}

// untouched says which revision failed, and which one is still running.
func (w *world) untouched(o *object) string {
	applied, attempted := o.text("status", "lastAppliedRevision"), o.text("status", "lastAttemptedRevision")
	if source := w.sourceOf(o); source != nil && source.text("status", "artifact", "revision") != "" {
		attempted = source.text("status", "artifact", "revision")
	}
	switch applied {
	case "":
		return " (in " + revision(attempted) + "; nothing was applied yet)"
	case attempted:
		return ""
	}
	return fmt.Sprintf(" (in %s; %s is untouched and runs on)", revision(attempted), revision(applied))
}
