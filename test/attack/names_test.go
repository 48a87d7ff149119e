package attack

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
)

func fromBase64(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}

// strangeName matches the operator's error about a name that Cloud SQL does not accept (operator/engine, databases.go).
const strangeName = `has (the name "|a name with characters outside)`

// nameAttacks use names that some program decodes again: as a path, as SQL, as an argument; and SQL statements with which
// MySQL accesses files.
func nameAttacks() []attack {
	var list []attack
	for what, name := range map[string]string{
		"an encoded path":                      "%2e%2e%2f%2e%2e%2fweb%2fdata%2fsalaries",
		"a path":                               "../../web/data",
		"an encoded path after one's own name": "mallory_%2e%2e%2f%2e%2e%2fweb",
		"a path after one's own name":          "mallory_/../../web",
		"a path of another system":             `mallory_\..\..\web`,
		"a quote":                              "mallory_`; DROP DATABASE wordpress; --",
		"a name of 65 characters":              "mallory_" + strings.Repeat("x", 57),
		"a name that ends with a blank":        "mallory_x ",
		"a folder's own name":                  ".",
		"an option":                            "--mallory_x",
		"a name with a newline":                "mallory_x\nweb",
	} {
		list = append(list, attack{
			name: "database: " + what, class: decodedNames, as: byRun, do: declared(databaseBody, name),
			says: strangeName, unharmed: victimsDatabaseIsThere,
		})
	}
	for what, name := range map[string]string{"a quote": "mallory_'@'%", "a wildcard": "mallory_%", "33 characters": "mallory_" + strings.Repeat("x", 25), "nothing": ""} {
		list = append(list, attack{
			name: "user: " + what, class: decodedNames, as: byRun, do: declared(userBody, name),
			says: strangeName, unharmed: victimsDatabaseIsThere,
		})
	}
	for _, statement := range []string{
		"SELECT 1 INTO OUTFILE '{GOOGLE}/stolen'", "SELECT 1 INTO DUMPFILE '{GOOGLE}/stolen'", "SET PERSIST max_connections = 1",
		"SET GLOBAL max_connections = 1", "LOAD DATA INFILE '{ENGINEER}' INTO TABLE t", "SELECT LOAD_FILE('{ENGINEER}') IS NOT NULL AND 1/0",
		"CREATE DATABASE `%2e%2e%2fweb`", "CALL dolt_clone('file://{STATE}')", "CALL dolt_backup('sync-url', 'file://{GOOGLE}/stolen')",
		"SHUTDOWN", "CREATE USER web_next", "GRANT ALL ON *.* TO CURRENT_USER()",
	} {
		list = append(list, attack{
			name: "statement: " + strings.NewReplacer("/", " ", "{", "", "}", "").Replace(statement), class: decodedNames, as: byDatabase,
			do: func(ctx context.Context, f *field) error {
				if err := f.mallory.query(ctx, f.fill(statement)); err != nil {
					return fmt.Errorf("%w: %w", errStopped, err)
				}
				return nil
			},
			says: `(?i)denied|secure.file|not allowed|syntax|read.only|unknown|privilege|not supported|command|disabled|invalid|does not exist|not a directory|not found`, unharmed: victimsDatabaseIsThere,
		})
	}
	return list
}
