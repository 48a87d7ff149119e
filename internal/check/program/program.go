// Package program checks the types of Pulumi programs in YAML with the language host's own library, without a run.
package program

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver"
	"github.com/hashicorp/hcl/v2"
	"github.com/pulumi/pulumi-yaml/pkg/pulumiyaml"
	"github.com/pulumi/pulumi-yaml/pkg/pulumiyaml/ast"
	"github.com/pulumi/pulumi-yaml/pkg/pulumiyaml/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"

	"github.com/strata-platform/strata/operator/engine/message"
)

// projectFile is the name of the file that the operator writes for a Program.
const projectFile = "Pulumi.yaml"

// maxSchema bounds the size of a schema file in bytes.
const maxSchema = 256 << 20

// Schemas are the schemas of Pulumi packages in a folder, in files NAME-VERSION.json, as the operator keeps them.
type Schemas struct {
	files map[string]string // by package

	lock   sync.Mutex
	loaded map[string]schema.PackageReference
}

var schemaFile = regexp.MustCompile(`^([a-z][a-z0-9-]*?)-(\d+\.\d+\.\d+.*)\.json$`)

// Open finds the schemas in folders. The first folder with a package counts; a missing folder has none.
func Open(folders ...string) *Schemas {
	s := &Schemas{files: map[string]string{}, loaded: map[string]schema.PackageReference{}}
	for _, folder := range folders {
		// A missing folder has no files.
		entries, _ := os.ReadDir(folder)
		for _, entry := range slices.Backward(entries) {
			match := schemaFile.FindStringSubmatch(entry.Name())
			if match != nil && s.files[match[1]] == "" && entry.Type().IsRegular() {
				s.files[match[1]] = filepath.Join(folder, entry.Name())
			}
		}
	}
	return s
}

// Empty reports whether there are no schemas.
func (s *Schemas) Empty() bool { return len(s.files) == 0 }

// LoadPackageReferenceV2 implements schema.ReferenceLoader.
func (s *Schemas) LoadPackageReferenceV2(_ context.Context, descriptor *schema.PackageDescriptor) (schema.PackageReference, error) {
	return s.load(descriptor.Name)
}

// LoadPackageReference implements schema.ReferenceLoader.
func (s *Schemas) LoadPackageReference(name string, _ *semver.Version) (schema.PackageReference, error) {
	return s.load(name)
}

// LoadPackageV2 implements schema.Loader.
func (s *Schemas) LoadPackageV2(_ context.Context, descriptor *schema.PackageDescriptor) (*schema.Package, error) {
	found, err := s.load(descriptor.Name)
	if err != nil {
		return nil, err
	}
	return found.Definition()
}

// LoadPackage implements schema.Loader.
func (s *Schemas) LoadPackage(name string, _ *semver.Version) (*schema.Package, error) {
	return s.LoadPackageV2(context.Background(), &schema.PackageDescriptor{Name: name})
}

// load reads the schema of a package once. It binds only the types that a program uses.
func (s *Schemas) load(name string) (schema.PackageReference, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if found := s.loaded[name]; found != nil {
		return found, nil
	}
	file, known := s.files[name]
	if !known {
		return nil, fmt.Errorf("no schema of package %s", name)
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxSchema {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(file)
	}
	var spec schema.PartialPackageSpec
	if err == nil {
		err = json.Unmarshal(content, &spec)
	}
	if err != nil {
		return nil, fmt.Errorf("read the schema of package %s in %s: %w", name, file, err)
	}
	found, err := schema.ImportPartialSpec(spec, nil, s)
	if err != nil {
		return nil, fmt.Errorf("read the schema of package %s in %s: %w", name, file, err)
	}
	s.loaded[name] = found
	return found, nil
}

// Fault is a fault of a program.
type Fault struct {
	// Field is the path of the field in the program, such as resources.db.properties.name.
	Field string
	// Message is the operator's message after a run that fails by this fault.
	Message string
}

// located matches the path at the beginning of a message.
var located = regexp.MustCompile(`^((?:resources|variables|outputs|configuration)\.\S+?): `)

// Check returns the faults in the types of a program. content is its Pulumi.yaml as the operator writes it, and config are
// the config keys that Stacks set and the program need not declare. For packages without a schema it returns their names, and
// no faults.
func (s *Schemas) Check(content []byte, config []string) (faults []Fault, without []string) {
	template, diags, err := pulumiyaml.LoadYAMLBytes(projectFile, content)
	if err != nil {
		return []Fault{{Message: message.Explain(err.Error(), message.InProgram(content))}}, nil
	}
	if diags.HasErrors() {
		return explain(content, diags), nil
	}
	if without = s.without(template); len(without) > 0 {
		return nil, without
	}
	for _, each := range template.Resources.Entries {
		// The library checks only the properties that are there. Without any, the provider refuses a missing one.
		of := each.Value
		if of.Properties.PropertyMap == nil && of.Properties.Expr == nil && of.Get.Id == nil && len(of.Get.State.Entries) == 0 {
			of.Properties.PropertyMap = &ast.PropertyMapDecl{}
		}
	}
	declare(template, config)
	_, diags, err = pulumiyaml.PrepareTemplate(template, nil, pulumiyaml.NewPackageLoaderFromSchemaLoader(s))
	if err != nil {
		return []Fault{{Message: message.Explain(err.Error(), message.InProgram(content))}}, nil
	}
	return explain(content, diags), nil
}

// declare declares config keys in a program, without a type, so that the library does not stop at a reference to one. A key that has
// the name of a resource, a variable or a declared key is left out: the name means that one.
func declare(template *ast.TemplateDecl, config []string) {
	taken := map[string]bool{}
	for _, each := range template.GetConfig().Entries {
		taken[each.Key.Value] = true
	}
	for _, each := range template.Resources.Entries {
		taken[each.Key.Value] = true
	}
	for _, each := range template.Variables.Entries {
		taken[each.Key.Value] = true
	}
	for _, key := range config {
		for _, name := range []string{key, key[strings.LastIndexByte(key, ':')+1:]} {
			if !taken[name] {
				taken[name] = true
				template.Configuration.Entries = append(template.Configuration.Entries, ast.ConfigMapEntry{Key: ast.String(name), Value: &ast.ConfigParamDecl{}})
			}
		}
	}
}

// without returns the packages of a program without a schema, sorted.
func (s *Schemas) without(template *ast.TemplateDecl) []string {
	used, _ := pulumiyaml.GetReferencedPackages(template)
	var all []string
	for _, each := range used {
		if s.files[each.Name] == "" && each.Name != "pulumi" {
			all = append(all, each.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// explain returns the errors of the library in the words of the operator.
func explain(content []byte, diags syntax.Diagnostics) []Fault {
	var all []Fault
	for _, each := range diags.HCL() {
		if each.Severity != hcl.DiagError {
			continue
		}
		text := each.Summary
		if each.Detail != "" && each.Detail != each.Summary {
			text += " " + each.Detail
		}
		field := ""
		if each.Subject != nil {
			text = fmt.Sprintf("%s:%d,%d-%d: %s", projectFile, each.Subject.Start.Line, each.Subject.Start.Column, max(each.Subject.End.Column, 1), text)
			field = message.PathOf(content, each.Subject.Start.Line)
		}
		text = message.Properties(content, message.Explain(text, message.InProgram(content)))
		text = strings.TrimSpace(text)
		if match := located.FindStringSubmatch(text); field == "" && match != nil {
			field = match[1]
		}
		all = append(all, Fault{field, text})
	}
	return all
}
