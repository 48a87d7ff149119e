package main
import (
 "fmt"
 "github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
 "sigs.k8s.io/kustomize/api/krusty"
)
func main(){ fmt.Println(install.MakeDefaultOptions().Components, krusty.MakeDefaultOptions()) }
