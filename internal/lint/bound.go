package lint

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// size is the amount of data that a build loads.
type size struct {
	files, objects, changes, nodes int
	bytes                          int64
}

// plus adds two sizes and caps the sums, because a number could overflow: if each of two folders loads a folder twice,
// the size doubles at each level.
func (s size) plus(more size) size {
	const enough = 1 << 30
	return size{
		files:   min(s.files+more.files, enough),
		objects: min(s.objects+more.objects, enough),
		changes: min(s.changes+more.changes, enough),
		nodes:   min(s.nodes+more.nodes, enough),
		bytes:   min(s.bytes+more.bytes, enough),
	}
}

// bound rejects folders whose build exceeds the limits. It checks every folder with a kustomization
// file. If the root has none, it checks the whole repository, as Flux builds it.
func (c *checker) bound() error {
	return fs.WalkDir(c.tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		file, k, err := c.kustomization(name)
		if err != nil {
			return err
		}
		var total size
		switch {
		case k != nil:
			total, err = c.build(name, nil)
		case name == ".":
			file = "The repository"
			total, err = c.generated(name)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		c.compare(file, total)
		if len(c.problems) >= most {
			return fs.SkipAll
		}
		return nil
	})
}

func (c *checker) compare(file string, total size) {
	const advice = ", and Flux builds for all teams one after the other: load less, or split it into several Kustomizations"
	switch {
	case total.files > c.limits.Files:
		c.report(file, "", "makes a build load more than %d files"+advice, c.limits.Files)
	case total.objects > c.limits.Objects:
		c.report(file, "", "makes a build load more than %d objects"+advice, c.limits.Objects)
	case total.changes*total.objects > c.limits.Changes:
		c.report(file, "", "makes a build apply %d changes to %d objects, more than %d in all"+advice, total.changes, total.objects, c.limits.Changes)
	case total.nodes > c.limits.Nodes:
		c.report(file, "", "makes a build load more than %d values"+advice, c.limits.Nodes)
	case total.bytes > c.limits.Bytes:
		c.report(file, "", "makes a build load more than %d bytes"+advice, c.limits.Bytes)
	}
}

// kustomization returns the kustomization file of a folder. The Kustomization is nil if there is no readable one.
func (c *checker) kustomization(folder string) (string, *types.Kustomization, error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		name = path.Join(folder, name)
		if !c.isFile(name) {
			continue
		}
		content, err := c.read(name)
		if err != nil || content == nil {
			return name, nil, err
		}
		if all := decode(content); len(all) > 0 {
			return name, all[0], nil
		}
		return name, nil, nil
	}
	return "", nil, nil
}

// build returns the size of a folder's build. A folder that loads itself counts as nothing here, because kustomize
// rejects it.
func (c *checker) build(folder string, within []string) (size, error) {
	if known, ok := c.sizes[folder]; ok {
		return known, nil
	}
	if slices.Contains(within, folder) {
		return size{}, nil
	}
	within = append(slices.Clip(within), folder)
	file, k, err := c.kustomization(folder)
	if err != nil || k == nil {
		return size{}, err
	}
	total := size{files: 1, changes: changes(k), nodes: c.inline[file]}
	for _, each := range places(k) {
		target := path.Join(folder, each.value)
		if isText(each.value) || outside(target) || path.IsAbs(each.value) {
			continue
		}
		var more size
		if c.isFolder(target) {
			more, err = c.build(target, within)
		} else {
			more, err = c.file(target)
		}
		if err != nil {
			return size{}, err
		}
		total = total.plus(more)
	}
	c.sizes[folder] = total
	return total, nil
}

// changes counts the changes that a kustomization file makes to each object, or to each of many objects.
func changes(k *types.Kustomization) int {
	targets := 0
	for _, each := range k.Replacements {
		targets += len(each.Targets)
	}
	//nolint:staticcheck // Flux still builds deprecated fields.
	return targets + len(k.Patches) + len(k.PatchesStrategicMerge) + len(k.PatchesJson6902) + len(k.Transformers) + len(k.Validators) +
		len(k.Images) + len(k.ImageTags) + len(k.Replicas) + len(k.Vars) + len(k.Labels) + len(k.ConfigMapGenerator) + len(k.SecretGenerator)
}

// generated returns the size of the build that Flux generates for a folder without a kustomization file. That build
// loads each YAML file in and below the folder, and the builds of those subfolders that have a kustomization file.
func (c *checker) generated(folder string) (size, error) {
	var total size
	err := fs.WalkDir(c.tree, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var more size
		switch {
		case entry.IsDir() && name != folder:
			file, _, err := c.kustomization(name)
			if err != nil || file == "" {
				return err
			}
			if more, err = c.build(name, nil); err != nil {
				return err
			}
			total = total.plus(more)
			return fs.SkipDir
		case entry.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)):
			if more, err = c.file(name); err != nil {
				return err
			}
			total = total.plus(more)
		}
		return nil
	})
	return total, err
}

// file returns the size of one file. A missing file fails the build and has size zero.
func (c *checker) file(name string) (size, error) {
	if known, ok := c.files[name]; ok {
		return known, nil
	}
	info, err := fs.Lstat(c.tree, name)
	if err != nil || !info.Mode().IsRegular() {
		return size{}, nil
	}
	content, err := c.read(name)
	if err != nil {
		return size{}, err
	}
	// parse returns the documents before a syntax error. For a file that is not YAML, such as a file of a ConfigMap,
	// these count as its objects.
	documents, _ := parse(content, c.limits.Nodes)
	known := size{files: 1, nodes: values(documents, c.limits.Nodes) + c.inline[name], bytes: info.Size()}
	for _, document := range documents {
		known.objects += items(document)
	}
	c.files[name] = known
	return known, nil
}

// items counts the objects in a document. A List counts as its items.
func items(document *yaml.Node) int {
	node := root(document)
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if list := root(node.Content[i+1]); root(node.Content[i]).Value == "items" && list.Kind == yaml.SequenceNode && strings.HasSuffix(scalar(document, "kind"), "List") {
			total := 0
			for _, item := range list.Content {
				total += items(item)
			}
			return max(total, 1)
		}
	}
	if empty(document) {
		return 0
	}
	return 1
}

// values counts the values in documents, with aliases expanded.
func values(documents []*yaml.Node, most int) (count int) {
	known := map[*yaml.Node]int{}
	for _, document := range documents {
		count += expanded(document, known, most)
	}
	return count
}

// expanded counts the values of a node and of its aliases, each as often as it occurs.
func expanded(node *yaml.Node, known map[*yaml.Node]int, most int) int {
	if node.Kind == yaml.AliasNode {
		count, ok := known[node.Alias]
		if !ok {
			// The anchor contains its own alias. Parsers reject that.
			known[node.Alias] = most + 1
			count = expanded(node.Alias, known, most)
		}
		return count
	}
	count := 1
	for _, each := range node.Content {
		count = min(count+expanded(each, known, most), most+1)
	}
	if node.Anchor != "" {
		known[node] = count
	}
	return count
}
