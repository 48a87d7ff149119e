package teams

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Add returns the content of a teams.yaml with a team appended to its list. All other bytes stay the same, comments and
// blank lines included, unless the list is in flow style ([...]): then Add rewrites the file, and keeps its comments and
// order. Add writes the team's name, branch, path, allow and quota. It returns an error if the list already contains the
// team, or if Decode would refuse the result.
func Add(content []byte, team Team) ([]byte, error) {
	before, err := Decode(content)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(before.Teams, func(t Team) bool { return t.Name == team.Name }) {
		return nil, fmt.Errorf("team %s is in the list already", team.Name)
	}
	if problems := team.problems("team"); len(problems) > 0 {
		return nil, joined(problems)
	}
	list, err := parse(content)
	if err != nil {
		return nil, err
	}
	changed, err := list.add(team)
	if err != nil {
		return nil, err
	}
	team.setDefaults()
	return checked(changed, append(before.Teams, team))
}

// Remove returns the content of a teams.yaml without a team and without the comment right above it. It treats the other
// bytes as Add does. It returns an error if the list does not contain the team.
func Remove(content []byte, name string) ([]byte, error) {
	before, err := Decode(content)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(before.Teams, func(t Team) bool { return t.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no team %q in the list: it has %s", name, names(before.Teams))
	}
	list, err := parse(content)
	if err != nil {
		return nil, err
	}
	changed, err := list.remove(at)
	if err != nil {
		return nil, err
	}
	return checked(changed, slices.Delete(slices.Clone(before.Teams), at, at+1))
}

func names(all []Team) string {
	var list []string
	for _, t := range all {
		list = append(list, t.Name)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// checked returns the content if it decodes to the wanted teams, and an error otherwise.
func checked(content []byte, want []Team) ([]byte, error) {
	after, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("the changed file would be invalid: %w: edit it by hand", err)
	}
	if len(after.Teams) != len(want) || len(want) > 0 && !reflect.DeepEqual(after.Teams, want) {
		return nil, errors.New("the list is written in a form that this command cannot edit: edit the file by hand")
	}
	return content, nil
}

// ParseQuota returns a quota from the names of its fields in teams.yaml and their values, such as cpu and 4.
func ParseQuota(values map[string]string) (Quota, error) {
	var q Quota
	fields := map[string]*string{
		"cpu": &q.CPU, "memory": &q.Memory, "memoryLimit": &q.MemoryLimit, "pods": &q.Pods, "storage": &q.Storage, "volumes": &q.Volumes,
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if fields[name] == nil {
			return Quota{}, fmt.Errorf("a quota has no %q: it has cpu, memory, memoryLimit, pods, storage and volumes", name)
		}
		*fields[name] = values[name]
	}
	return q, nil
}

// node encodes the non-empty fields of a team, in the order of Team's fields.
func (t Team) node() *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	put := func(to *yaml.Node, name string, value *yaml.Node) { to.Content = append(to.Content, text(name), value) }
	put(entry, "name", text(t.Name))
	if t.Branch != "" {
		put(entry, "branch", text(t.Branch))
	}
	if t.Path != "" {
		put(entry, "path", text(t.Path))
	}
	if len(t.Allow) > 0 {
		types := &yaml.Node{Kind: yaml.SequenceNode}
		for _, each := range t.Allow {
			types.Content = append(types.Content, text(each))
		}
		put(entry, "allow", types)
	}
	if t.Quota != (Quota{}) {
		quota := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, field := range t.Quota.fields() {
			if field.value != "" {
				put(quota, field.name, text(field.value))
			}
		}
		put(entry, "quota", quota)
	}
	return entry
}

// text returns a scalar node that decodes to a string. It quotes a value that looks like a number or a boolean, even by
// the rules of YAML 1.1, in which on and off are booleans.
func text(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if plain, err := sigsyaml.YAMLToJSON([]byte(value)); err != nil || !bytes.HasPrefix(plain, []byte(`"`)) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
