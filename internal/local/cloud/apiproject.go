package cloud

import (
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

const projects table = "projects" // <project>

// project is a project of the emulated cloud.
type project struct {
	ID      string    `json:"id"`
	Number  int64     `json:"number"`
	Created time.Time `json:"created"`
}

// findProject returns the project with an ID or a number, or nil if there is none.
func findProject(tx *bbolt.Tx, idOrNumber string) (*project, error) {
	if idOrNumber == "" || idOrNumber == "-" {
		return nil, nil
	}
	if number, err := strconv.ParseInt(idOrNumber, 10, 64); err == nil {
		all, err := list[project](tx, projects, "")
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(all, func(p *project) bool { return p.Number == number }); at >= 0 {
			return all[at], nil
		}
		return nil, nil
	}
	return get[project](tx, projects, idOrNumber)
}
