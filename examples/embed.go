// Package examples contains repositories of app teams.
package examples

import "embed"

// Files are the files of the example that each new team begins with, with their paths below examples/.
//
//go:embed wordpress
var Files embed.FS
