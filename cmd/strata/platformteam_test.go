package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/teams"
	"github.com/strata-platform/strata/test/docstest"
)

// platformTeamPage is the page that these tests compare with the code. test/e2e runs its blocks for `local`.
const platformTeamPage = "docs/platform-team.md"

// setting is a key of a layer's configuration, as declared in its project file.
type setting struct {
	Type        string `json:"type"`
	Default     any    `json:"default"`
	Description string `json:"description"`
}

// project returns the settings of a project file, and their order.
func project(t *testing.T, path string) (map[string]setting, []string) {
	t.Helper()
	var file struct {
		Config map[string]setting `json:"config"`
	}
	text := docstest.Read(t, path)
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, match := range regexp.MustCompile(`(?m)^  (\w+):$`).FindAllStringSubmatch(text, -1) {
		order = append(order, match[1])
	}
	if len(order) != len(file.Config) {
		t.Fatalf("%s declares %d settings, and the test found %d", path, len(file.Config), len(order))
	}
	return file.Config, order
}

// settingsTable returns the Markdown table of a project's settings.
func settingsTable(t *testing.T, path string) string {
	t.Helper()
	settings, order := project(t, path)
	table := "| setting | type | default | |\n|---|---|---|---|\n"
	for _, name := range order {
		s := settings[name]
		value := "required"
		switch byDefault := s.Default.(type) {
		case nil:
		case string:
			if value = "empty"; byDefault != "" {
				value = "`" + byDefault + "`"
			}
		default:
			text, err := json.Marshal(byDefault)
			if err != nil {
				t.Fatal(err)
			}
			value = "`" + string(text) + "`"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, s.Type, value, s.Description)
	}
	return table
}

func TestPlatformTeamPageHasEverySettingWithItsDefault(t *testing.T) {
	page := docstest.Read(t, platformTeamPage)
	for _, path := range []string{"bootstrap/Pulumi.yaml", "Pulumi.yaml"} {
		marker := "<!-- settings: " + path + " -->\n\n"
		_, rest, found := strings.Cut(page, marker)
		table, _, _ := strings.Cut(rest, "\n\n")
		if want := settingsTable(t, path); !found || table+"\n" != want {
			t.Errorf("%s: below %q there should be\n%s", platformTeamPage, marker, want)
		}
	}
}

// commands maps a command's name to a check of its arguments in a block. name is the block's name.
var commands = map[string]func(t *testing.T, name string, args []string) error{
	"strata":  func(_ *testing.T, _ string, args []string) error { return checkStrata(args) },
	"pulumi":  checkPulumi,
	"gcloud":  checkGcloud,
	"kubectl": checkKubectl,
	"cd":      checkFolder,
	"export":  nothingToCheck,
	"umask":   nothingToCheck,
}

func nothingToCheck(*testing.T, string, []string) error { return nil }

func TestEveryBlockOfThePlatformTeamPageIsValid(t *testing.T) {
	for _, block := range docstest.Blocks(t, platformTeamPage) {
		if block.Language == "text" {
			continue // test/e2e compares it with the output of commands.
		}
		switch block.Language + " " + block.Name {
		case "sh local", "sh artifacts", "sh source oci", "sh source git", "sh drill", "sh rehearsal": // run by test/e2e
		case "sh gcloud", "sh bootstrap", "sh platform", "sh upgrade":
			for _, call := range calls(block.Text) {
				check := commands[call[0]]
				if check == nil {
					t.Errorf("%s:%d: this test does not check `%s`", platformTeamPage, block.Line, strings.Join(call, " "))
				} else if err := check(t, block.Name, call[1:]); err != nil {
					t.Errorf("%s:%d: `%s`: %v", platformTeamPage, block.Line, strings.Join(call, " "), err)
				}
			}
		case "yaml teams":
			if _, err := teams.Decode([]byte(block.Text)); err != nil {
				t.Errorf("%s:%d: %v", platformTeamPage, block.Line, err)
			}
		default:
			t.Errorf("%s:%d: this test does not check a block of %q %q", platformTeamPage, block.Line, block.Language, block.Name)
		}
	}
}

func TestCommandsInTheTextOfThePlatformTeamPageParse(t *testing.T) {
	page := docstest.Read(t, platformTeamPage)
	for _, match := range regexp.MustCompile("`strata ([^`]+)`").FindAllStringSubmatch(page, -1) {
		if args := strings.Fields(match[1]); args[0] != "layer" || len(args) > 1 {
			if err := checkStrata(args); err != nil && !strings.Contains(err.Error(), "give one ") {
				t.Errorf("`strata %s`: %v", match[1], err)
			}
		}
	}
	for _, match := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(toolchaintest.Root(t), "docs", match[1])); err != nil {
			t.Error(err)
		}
	}
}

// checkStrata parses a call of strata without running it.
func checkStrata(args []string) error {
	began := false
	command, rest, err := newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began).Find(args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err == nil {
		err = command.ValidateArgs(command.Flags().Args())
	}
	return err
}

// pulumiFlags maps the calls of pulumi on the page to their flags.
var pulumiFlags = map[string][]string{
	"login": nil, "up": {"--refresh"}, "preview": {"--refresh"}, "destroy": nil, "refresh": nil, "cancel": {"--yes"},
	"stack init": nil, "stack change-secrets-provider": nil, "stack rm": nil, "stack export": {"--file"}, "stack output": {"--show-secrets"},
	"config set": {"--secret", "--plaintext", "--path"},
}

func checkPulumi(t *testing.T, name string, args []string) error {
	t.Helper()
	words, flags := split(args)
	verb := words[0]
	if verb == "stack" || verb == "config" {
		verb, words = verb+" "+words[1], words[1:]
	}
	known, ok := pulumiFlags[verb]
	if !ok {
		return fmt.Errorf("this test does not check pulumi %s", verb)
	}
	for _, flag := range flags {
		if !slices.Contains(known, flag) {
			return fmt.Errorf("this test does not check the flag %s", flag)
		}
	}
	if verb != "config set" {
		return nil
	}
	path, ok := map[string]string{"bootstrap": "bootstrap/Pulumi.yaml", "platform": "Pulumi.yaml"}[name]
	if !ok {
		return fmt.Errorf("a block of %q has no project", name)
	}
	settings, _ := project(t, path)
	// A path names an element of a setting: teamCredentials.shop, platformPublishers[0].
	key := words[1]
	if at := strings.IndexAny(key, ".["); at >= 0 {
		key = key[:at]
	}
	if _, ok := settings[key]; !ok {
		return fmt.Errorf("%s declares no setting %s", path, key)
	}
	secret := strings.HasSuffix(strings.ToLower(words[1]), "password")
	if secret != slices.Contains(flags, "--secret") || secret != (len(words) == 2) {
		return fmt.Errorf("set passwords, and only passwords, with --secret and at a prompt")
	}
	return nil
}

// gcloudCalls are the calls of gcloud on the page.
var gcloudCalls = []string{
	"projects create", "projects delete", "projects add-iam-policy-binding", "billing projects link", "config set", "services enable",
	"kms keyrings create", "kms keyrings add-iam-policy-binding", "kms keys create", "kms keys add-iam-policy-binding", "kms keys versions create",
	"storage buckets create", "storage buckets update", "storage buckets add-iam-policy-binding", "storage rm", "auth application-default login",
}

// emulatedServices are the APIs that layer 1 calls.
var emulatedServices = []string{
	"cloudresourcemanager.googleapis.com", "compute.googleapis.com", "container.googleapis.com", "iam.googleapis.com",
	"serviceusage.googleapis.com", "sqladmin.googleapis.com", "storage.googleapis.com",
}

func checkGcloud(t *testing.T, _ string, args []string) error {
	t.Helper()
	words, flags := split(args)
	line := strings.Join(words, " ")
	if !slices.ContainsFunc(gcloudCalls, func(call string) bool { return line == call || strings.HasPrefix(line, call+" ") }) {
		return fmt.Errorf("this test does not check gcloud %s", line)
	}
	for _, flag := range flags {
		if role, ok := strings.CutPrefix(flag, "--role="); ok && !isRole(t, role) {
			return fmt.Errorf("Google has no role %s", role)
		}
	}
	if services, ok := strings.CutPrefix(line, "services enable "); ok && services != "cloudkms.googleapis.com" && services != strings.Join(emulatedServices, " ") {
		return fmt.Errorf("layer 1 calls %s", strings.Join(emulatedServices, " "))
	}
	return nil
}

func isRole(t *testing.T, role string) bool {
	t.Helper()
	return strings.Contains("\n"+docstest.Read(t, "internal/local/cloud/core/authz/roles.txt"), "\n"+role+" ")
}

func checkKubectl(_ *testing.T, _ string, args []string) error {
	words, _ := split(args)
	if len(words) != 2 || words[0] != "get" {
		return fmt.Errorf("this test does not check kubectl %s", strings.Join(words, " "))
	}
	for kind := range strings.SplitSeq(words[1], ",") {
		if !slices.Contains([]string{"deployments", "gitrepositories", "kustomizations", "stacks"}, kind) {
			return fmt.Errorf("this test does not know the kind %s", kind)
		}
	}
	return nil
}

func checkFolder(t *testing.T, _ string, args []string) error {
	t.Helper()
	_, err := os.Stat(filepath.Join(toolchaintest.Root(t), args[0]))
	return err
}

// calls returns the commands of a block, each with its arguments. It understands only the shell syntax of the page. It
// expands a loop's body once for each value.
func calls(block string) [][]string {
	var list [][]string
	variable, values := "", []string{}
	for line := range strings.Lines(block) {
		line = strings.NewReplacer(" && ", ";", "(", "", ")", "").Replace(line)
		for part := range strings.SplitSeq(line, ";") {
			part, _, _ = strings.Cut(part, " > ")
			words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(part))
			switch {
			case len(words) == 0, words[0] == "done":
			case words[0] == "for":
				variable, values = "$"+words[1], words[3:]
			case words[0] == "do":
				for _, value := range values {
					list = append(list, strings.Fields(strings.ReplaceAll(strings.Join(words[1:], " "), variable, value)))
				}
			default:
				list = append(list, words)
			}
		}
	}
	return list
}

// split separates the words of a call from its flags.
func split(args []string) (words, flags []string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") {
			flags = append(flags, arg)
		} else {
			words = append(words, arg)
		}
	}
	return words, flags
}
