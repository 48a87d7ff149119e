// Command controllers is source-controller, kustomize-controller or helm-controller of Flux, by the name of its file.
//
// One program for all three takes less memory when all three run: they share the pages of their libraries. The toolchain
// compiles it with copies of the three modules whose main packages can be imported.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	helm "github.com/fluxcd/helm-controller"
	kustomize "github.com/fluxcd/kustomize-controller"
	source "github.com/fluxcd/source-controller"
)

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := map[string]func(){
		"source-controller":    source.Main,
		"kustomize-controller": kustomize.Main,
		"helm-controller":      helm.Main,
	}[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is not a controller of Flux: name the file source-controller, kustomize-controller or helm-controller\n", name)
		os.Exit(2)
	}
	program()
}
