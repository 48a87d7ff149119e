// Package images contains the recipes of images that Strata assembles from packages of Debian.
package images

import (
	"embed"
	"io/fs"
)

//go:embed wordpress
var folders embed.FS

// Recipe returns the folder of a recipe: wordpress is the only one.
func Recipe(name string) (fs.FS, error) { return fs.Sub(folders, name) }
