package lifecycle

import (
	"fmt"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// Names of the layers.
const (
	BootstrapLayer = "bootstrap"
	PlatformLayer  = "platform"
)

// Project is the Pulumi project of a layer.
type Project struct {
	// Name is the project's name in Pulumi.
	Name string
	// Folder is the folder of the project's Pulumi.yaml, relative to the root of Strata's repository.
	Folder string
	// Program is the project's program.
	Program pulumi.RunFunc
}

var projects = map[string]Project{
	BootstrapLayer: {bootstrap.Project, "bootstrap", bootstrap.Program},
	PlatformLayer:  {platform.Project, ".", platform.Program},
}

// ProjectOf returns the project of a layer.
func ProjectOf(layer string) (Project, error) {
	project, is := projects[layer]
	if !is {
		return Project{}, fmt.Errorf("there is no layer %q: the layers are %s and %s", layer, BootstrapLayer, PlatformLayer)
	}
	return project, nil
}

// TeamsFile is the path of the list of teams, relative to the root of Strata's repository.
const TeamsFile = "teams.yaml"

// ReadTeams reads the list of teams. root is the root of Strata's repository.
func ReadTeams(root string) (*teams.File, error) { return teams.Load(filepath.Join(root, TeamsFile)) }
