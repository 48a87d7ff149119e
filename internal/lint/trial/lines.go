package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// badYAML matches kustomize's error about a document that is not valid YAML.
var badYAML = regexp.MustCompile(`MalformedYAMLError: yaml: line (\d+): (.*?) in File: (\S+)`)

// inFile adds to an error about invalid YAML the line in the file: kustomize parses each document of a file separately, and
// counts its lines from the beginning of the document.
func inFile(artifact, text string) string {
	match := badYAML.FindStringSubmatch(text)
	if match == nil || !filepath.IsLocal(match[3]) {
		return text
	}
	line, err := strconv.Atoi(match[1])
	if err != nil {
		return text
	}
	content, err := os.ReadFile(filepath.Join(artifact, match[3]))
	if err != nil {
		return text
	}
	before := 0
	for document := range strings.SplitSeq("\n"+string(content), "\n---") {
		var node yaml.Node
		if yaml.Unmarshal([]byte(document), &node) != nil {
			return fmt.Sprintf("%s is not valid YAML: %s (line %d)", match[3], match[2], before+line)
		}
		before += strings.Count(document, "\n") + 1
	}
	return text
}
