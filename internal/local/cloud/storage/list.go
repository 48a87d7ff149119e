package storage

import (
	"encoding/base64"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// listing is the parsed query of a list call.
type listing struct {
	bucket, prefix, delimiter string
	start, end                string // range of object names; end is exclusive
	after                     string // the end of the last page: the rest of an object's key, or a common prefix
	versions, trailing        bool
	limit                     int
}

// parseListing reads the query of a list call.
func parseListing(c *api.Call) (listing, error) {
	query := c.Request.URL.Query()
	for _, parameter := range []string{"matchGlob", "filter"} {
		if query.Get(parameter) != "" {
			return listing{}, rest.NotEmulated("The parameter " + parameter)
		}
	}
	if query.Get("softDeleted") == "true" {
		return listing{}, rest.NotEmulated("Soft delete")
	}
	limit, err := api.PageSize(query.Get("maxResults"))
	if err != nil {
		return listing{}, err
	}
	after, err := base64.URLEncoding.DecodeString(query.Get("pageToken"))
	if err != nil {
		return listing{}, api.LegacyInvalid("Invalid argument: pageToken.")
	}
	return listing{
		bucket: c.Vars["bucket"], prefix: query.Get("prefix"), delimiter: query.Get("delimiter"),
		start: query.Get("startOffset"), end: query.Get("endOffset"), after: string(after),
		versions: query.Get("versions") == "true", trailing: query.Get("includeTrailingDelimiter") == "true", limit: limit,
	}, nil
}

func (s *service) listObjects(c *api.Call) (any, error) {
	asked, err := parseListing(c)
	if err != nil {
		return nil, err
	}
	var answer *storage.Objects
	err = s.Store.View(func(tx *bbolt.Tx) (err error) {
		answer, err = asked.page(tx)
		return err
	})
	return answer, err
}

// pastAll sorts after every possible continuation of a prefix: UTF-8 never contains this byte.
const pastAll = "\xff"

// page reads one page. It groups the objects that share a prefix up to the delimiter.
func (l listing) page(tx *bbolt.Tx) (*storage.Objects, error) {
	answer := &storage.Objects{Kind: "storage#objects"}
	from, last := max(l.prefix, l.start), ""
	switch {
	case strings.Contains(l.after, keySeparator):
		from = max(from, l.after+keySeparator)
	case l.after != "":
		from = max(from, l.after+pastAll)
	}
	for {
		key, data := seekObject(tx, l.bucket, from)
		position := strings.TrimPrefix(string(key), l.bucket+keySeparator)
		name, _, _ := strings.Cut(position, keySeparator)
		if key == nil || !strings.HasPrefix(name, l.prefix) || l.end != "" && name >= l.end {
			return answer, nil
		}
		found, err := store.DecodeRecord[object](objects, string(key), data)
		if err != nil {
			return nil, err
		}
		from = position + keySeparator
		if !found.live() && !l.versions {
			continue
		}
		if len(answer.Items)+len(answer.Prefixes) == l.limit {
			answer.NextPageToken = base64.URLEncoding.EncodeToString([]byte(last))
			return answer, nil
		}
		common := l.common(name)
		if common == "" || l.trailing && common == name {
			answer.Items = append(answer.Items, objectResponse(found.Object))
			last = position
		}
		if common != "" {
			answer.Prefixes = append(answer.Prefixes, common)
			last, from = common, common+pastAll
		}
	}
}

// common returns the part of a name up to and including the first delimiter after the prefix, or "" if the name has
// none.
func (l listing) common(name string) string {
	if l.delimiter == "" {
		return ""
	}
	head, _, ok := strings.Cut(name[len(l.prefix):], l.delimiter)
	if !ok {
		return ""
	}
	return l.prefix + head + l.delimiter
}
