package query

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
)

// Subject is what a question is about: a resource of Google Cloud by its relative name, or an object of Kubernetes.
type Subject struct {
	// Resource is a relative name, such as "projects/strata-local/instances/strata/users/web".
	Resource string `json:"resource,omitempty"`
	// Secret is NAMESPACE/NAME.
	Secret string `json:"secret,omitempty"`
}

// String returns the subject as a person would name it.
func (s Subject) String() string {
	if s.Secret != "" {
		return "Secret " + s.Secret
	}
	parts := strings.Split(s.Resource, "/")
	for kind, collection := range collections {
		if len(parts) > 1 && parts[len(parts)-2] == collection {
			return kind + " " + parts[len(parts)-1]
		}
	}
	return s.Resource
}

// collections are the collections of the kinds of resources that a question may name.
var collections = map[string]string{
	"database": "databases", "user": "users", "instance": "instances", "cluster": "clusters", "nodepool": "nodePools", "bucket": "buckets",
	"account": "serviceAccounts", "role": "roles", "keyring": "keyRings", "key": "cryptoKeys", "service": "services",
}

// secretKind is the kind of Secrets.
const secretKind = "secret"

// Kinds returns the kinds that a question may name, sorted.
func Kinds() []string { return append(slices.Sorted(maps.Keys(collections)), secretKind) }

// kindOf returns the kind that a word names: a kind, or a type of Pulumi such as "gcp:sql/database:Database".
func kindOf(word string) string {
	kind := strings.ToLower(word[strings.LastIndexByte(word, ':')+1:])
	switch kind {
	case "databaseinstance":
		return "instance"
	case "serviceaccount":
		return "account"
	case "cryptokey":
		return "key"
	case "iamcustomrole":
		return "role"
	}
	return kind
}

// longest bounds the texts of questions in errors, in characters.
const longest = 120

// Ambiguous is the error of a name that several resources have.
type Ambiguous struct {
	Name    string
	Choices []Subject
}

// mostChoices bounds the choices that the error names.
const mostChoices = 5

// Error implements error.
func (e *Ambiguous) Error() string {
	var commands []string
	for i, each := range e.Choices {
		if i == mostChoices {
			commands = append(commands, fmt.Sprintf("%d more", len(e.Choices)-i))
			break
		}
		commands = append(commands, "`strata why "+terminal.Line(cmp.Or(each.Secret, each.Resource), longest)+"`")
	}
	return fmt.Sprintf("%s is the name of %d resources: name one with %s", terminal.Line(e.Name, longest), len(e.Choices), strings.Join(commands, " or "))
}

// Find returns the subject of a question: a link or relative name of a resource, NAMESPACE/NAME of a Secret, a name, or a kind and a name.
// A resource must have an entry in the book.
func (b *Book) Find(words ...string) (Subject, error) {
	name, kind := words[len(words)-1], ""
	if len(words) > 1 {
		kind = kindOf(words[0])
		if !slices.Contains(Kinds(), kind) {
			return Subject{}, fmt.Errorf("%s is not a kind of resource: use one of %s", terminal.Line(words[0], longest), strings.Join(Kinds(), ", "))
		}
	}
	if resource, ok := relative(name); ok && kind == "" {
		return b.known(words, func(r string) bool { return r == resource }, nil)
	}
	secret := func(w string) bool { return w == name }
	if kind == secretKind || kind == "" && strings.Count(name, "/") == 1 {
		return b.known(words, nil, secret)
	}
	return b.known(words, func(resource string) bool {
		parts := strings.Split(resource, "/")
		last, collection := parts[len(parts)-1], ""
		if len(parts) > 1 {
			collection = parts[len(parts)-2]
		}
		account, _, isMail := strings.Cut(last, "@")
		return (last == name || isMail && collection == collections["account"] && account == name) && (kind == "" || collection == collections[kind])
	}, func(w string) bool { return kind == "" && w[strings.LastIndexByte(w, '/')+1:] == name })
}

// relative returns the relative name of a resource in a link or a relative name.
func relative(text string) (string, bool) {
	if link, err := url.Parse(text); err == nil && link.Host != "" {
		text = link.Path
	}
	if at := strings.Index(text, "projects/"); at >= 0 && (at == 0 || text[at-1] == '/') {
		return strings.Trim(text[at:], "/"), true
	}
	// The link of a bucket.
	if _, bucket, ok := strings.Cut(text, "/storage/v1/b/"); ok {
		return "projects/_/buckets/" + strings.Trim(bucket, "/"), true
	}
	return "", false
}

// known returns the only subject that fits.
func (b *Book) known(words []string, resource, secret func(string) bool) (Subject, error) {
	found := map[Subject]bool{}
	for _, c := range b.Calls {
		// Calls that failed may name anything.
		if c.Code == 0 && resource != nil && resource(c.Resource) {
			found[Subject{Resource: c.Resource}] = true
		}
	}
	for _, w := range b.Writes {
		if name := w.Namespace + "/" + w.Name; w.Resource == "secrets" && secret != nil && secret(name) {
			found[Subject{Secret: name}] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(found), func(a, b Subject) int { return strings.Compare(a.Resource+a.Secret, b.Resource+b.Secret) })
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return Subject{}, b.unknown(words)
	}
	return Subject{}, &Ambiguous{Name: words[len(words)-1], Choices: all}
}

func (b *Book) unknown(words []string) error {
	text := terminal.Line(strings.Join(words, " "), longest)
	if b.Began.IsZero() {
		return fmt.Errorf("the ledger has no entry about %s: it is empty", text)
	}
	gaps := ""
	if len(b.Gaps) > 0 {
		gaps = fmt.Sprintf("; it has %d gaps, which `strata history TEAM` shows", len(b.Gaps))
	}
	return fmt.Errorf("the ledger has no entry about %s since %s%s: check the name with `strata history TEAM`, or name a link of the resource, NAMESPACE/NAME of a Secret, or KIND NAME",
		text, b.Began.Format("2006-01-02 15:04"), gaps)
}
