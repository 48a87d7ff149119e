package api

import (
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Projects holds the projects.
const Projects store.Table = "projects" // <project>

// Project is a project of the emulated cloud.
type Project struct {
	ID      string    `json:"id"`
	Number  int64     `json:"number"`
	Created time.Time `json:"created"`
}

// FindProject returns the project with an ID or a number, or nil if there is none.
func FindProject(tx *bbolt.Tx, idOrNumber string) (*Project, error) {
	if idOrNumber == "" || idOrNumber == "-" {
		return nil, nil
	}
	if number, err := strconv.ParseInt(idOrNumber, 10, 64); err == nil {
		all, err := store.List[Project](tx, Projects, "")
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(all, func(p *Project) bool { return p.Number == number }); at >= 0 {
			return all[at], nil
		}
		return nil, nil
	}
	return store.Get[Project](tx, Projects, idOrNumber)
}
