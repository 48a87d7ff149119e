package message

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The language host for YAML gives the place of a fault in the project's file either before the fault or after it. In the
// second case it also prints the lines of the file.
var (
	placeBefore = regexp.MustCompile(`((?:Main|Pulumi)\.(?:yaml|json)):(\d+),\d+-[\d,]+: `)
	placeAfter  = regexp.MustCompile(` ?\(?\bon ((?:Main|Pulumi)\.(?:yaml|json)) line (\d+)(?:, in \S+)?:?`)

	// placeUnnamed matches the prefix of a message about a file that is not valid YAML.
	placeUnnamed = regexp.MustCompile(`^<nil>: yaml: ()line (\d+): `)

	// excerpt matches a printed line of the file.
	excerpt = regexp.MustCompile(`(?m)^\s*\d+: .*$`)
)

// advice holds advice for faults. For some, pulumi gives no advice; for others, its advice helps only users who run pulumi
// by hand.
var advice = []struct {
	fault  *regexp.Regexp
	advice string
}{
	{regexp.MustCompile("; run `pulumi config` to set"), ": set it in the Stack's config, or give it a default in the program"},
	{regexp.MustCompile(`^validating stack config: (Stack '[^']*' is missing configuration value '[^']*')$`), "$1: set it in the Stack's config, or give it a default in the project"},
	{regexp.MustCompile(`^could not create secrets manager for new stack: passphrase must be set .*$`), "the stack has no key to encrypt its secrets: set PULUMI_CONFIG_PASSPHRASE in spec.envRefs, or set spec.secretsProvider"},
	{regexp.MustCompile(`^(.*)incorrect passphrase, please set PULUMI_CONFIG_PASSPHRASE .*$`), "the stack's secrets were encrypted with another passphrase: set PULUMI_CONFIG_PASSPHRASE to the passphrase of its first run"},
	{regexp.MustCompile(`^performing HTTP request: (\S+ )"([^"]*)/api/[^"]*": (.*)$`), "the backend $2 does not answer ($3): check its address, and whether runs can reach it"},
	{regexp.MustCompile(`^(.*: )?failed to load checkpoint: (.*)$`), "the stack's state cannot be read ($2): restore a good copy, such as its .bak file"},
	{regexp.MustCompile(`^(.*?)(?:internal error loading package "[^"]*": )?(?:rpc error: code = \w+ desc = )?no resource plugin '([^']*)' found.*$`), "${1}there is no $2 installed here: use the package of an installed plugin"},
	{regexp.MustCompile(`^(resource passed as Provider was not a provider resource).*$`), "$1: name a resource whose type begins with pulumi:providers:"},
	{regexp.MustCompile(`resource "urn:[^"]*" was not successfully (created|updated|deleted) by the Kubernetes API server: `), ""},
	{regexp.MustCompile(`^waiting for RPCs: rpc error: code = \w+ desc = `), ""},
	{regexp.MustCompile("(failed to parse kubeconfig data) in `kubernetes:config:kubeconfig`.*$"), "$1: it is not a kubeconfig"},
	{regexp.MustCompile(`^(Target .* could not be found in the stack)\..*$`), "$1: name a resource in the stack"},
	{regexp.MustCompile(`^error reading from server: EOF$`), "a process of Pulumi ended during the run: check that each resource with get exists, or run the Stack again"},
}

// Locate formats a fault with its place: a file and a line of the program. The file name is empty if pulumi gives none.
type Locate func(name string, line int, fault string) string

// InProgram locates faults in a Program by their path of keys. The author of a Program has not seen the Pulumi.yaml that the
// operator writes, so its lines are of no use.
func InProgram(content []byte) Locate {
	return func(_ string, line int, fault string) string { return Below(PathOf(content, line), fault) }
}

// Below prefixes a fault with the path of keys of its node, unless the path is empty.
func Below(path, fault string) string {
	if path == "" {
		return fault
	}
	return path + ": " + fault
}

// Explain rewrites a message of pulumi for users of the operator. Explain adds the place of the fault in the program, omits
// advice for users who run pulumi by hand, and adds the next step where pulumi gives none.
func Explain(text string, where Locate) string {
	for _, prefix := range []string{"failed to discover package requirements: ", "an unhandled error occurred: ", "running program failed: "} {
		text = counted.ReplaceAllString(strings.TrimPrefix(text, prefix), "")
	}
	name, line := "", 0
	for _, place := range []*regexp.Regexp{placeUnnamed, placeBefore, placeAfter} {
		if match := place.FindStringSubmatch(text); match != nil && line == 0 {
			name = match[1]
			line, _ = strconv.Atoi(match[2])
		}
		text = place.ReplaceAllString(text, "")
	}
	text = strings.TrimRight(OneLine(strings.TrimPrefix(text, "<nil>: ")), "; ")
	for _, a := range advice {
		text = a.fault.ReplaceAllString(text, a.advice)
	}
	if line == 0 {
		return text
	}
	return where(name, line, text)
}

// PathOf returns the path of keys of the node that begins on a line of a file. PathOf returns an empty path if content is
// empty or not valid YAML.
func PathOf(content []byte, line int) string {
	var document yaml.Node
	if yaml.Unmarshal(content, &document) != nil || len(document.Content) == 0 {
		return ""
	}
	path := ""
	for node := document.Content[0]; node != nil; {
		var inner *yaml.Node
		for i, child := range node.Content {
			switch node.Kind {
			case yaml.MappingNode:
				if i%2 == 0 && child.Line <= line && !begun(node, i+2, line) {
					inner = node.Content[i+1]
					path = strings.TrimPrefix(path+"."+child.Value, ".")
				}
			case yaml.SequenceNode:
				if child.Line <= line && !begun(node, i+1, line) {
					inner = child
					path = fmt.Sprintf("%s[%d]", path, i)
				}
			}
			if inner != nil {
				break
			}
		}
		node = inner
	}
	return path
}

// begun reports whether the child of a node begins on the given line or before it.
func begun(node *yaml.Node, child, line int) bool {
	return child < len(node.Content) && node.Content[child].Line <= line
}
