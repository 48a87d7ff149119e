// Package taken hands the databases and database users of a team's other stacks to the plugins of a run, which must not
// create them again.
//
// The engine refuses a name that a program contains before the run begins. A name with the output of a resource is known
// only when the run creates the database or the user, and then only to the plugin.
package taken

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Variable names the environment variable with the path of the file. A plugin whose environment does not have the variable
// checks nothing.
const Variable = "STRATA_TAKEN"

// The types of resources that a list may contain.
const (
	Database = "gcp:sql/database:Database"
	User     = "gcp:sql/user:User"
)

// Resource is a database or a user that another stack owns.
type Resource struct {
	// Type is Database or User.
	Type string `json:"type"`

	// Name is the name on the instance. Instance is the name of the instance; an empty Instance may be any.
	Name     string `json:"name"`
	Instance string `json:"instance,omitempty"`

	// Owner is how users know the other stack, such as "Stack shop".
	Owner string `json:"owner"`
}

// file is the name of the file in the folder of a run.
const file = "taken.json"

// Write writes the list into the opened folder of a run, and returns the variable, as NAME=value, by which the plugins of the
// run find it.
func Write(folder *os.Root, list []Resource) (variable string, err error) {
	content, err := json.Marshal(list)
	if err == nil {
		err = folder.WriteFile(file, content, 0o400)
	}
	if err != nil {
		return "", fmt.Errorf("write the names that other stacks own: %w", err)
	}
	return Variable + "=" + filepath.Join(folder.Name(), file), nil
}

// Fold returns the form of a name in which two names are compared: MySQL compares the names of databases without case on
// some systems.
func Fold(name string) string { return strings.ToLower(name) }

// Check returns an error that names the owner if another stack owns the database or the user. The instance may be a link,
// which ends in the instance's name. The host of a user does not count, because MySQL chooses among the users of one name.
func Check(typ, name, instance string) error {
	path := os.Getenv(Variable)
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // the engine wrote the file and set the variable
	var list []Resource
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return fmt.Errorf("read the names that other stacks own: %w", err)
	}
	instance = instance[strings.LastIndexByte(instance, '/')+1:]
	for _, each := range list {
		if each.Type == typ && Fold(each.Name) == Fold(name) && (each.Instance == instance || each.Instance == "") {
			return fmt.Errorf("this is the %s, and %s owns it: choose another name, or remove it from %[2]s first", Describe(typ, name, instance), each.Owner)
		}
	}
	return nil
}

// Describe describes a database or a user for a message. An empty instance is left out.
func Describe(typ, name, instance string) string {
	text := "database " + name
	if typ == User {
		text = "user " + name
	}
	if instance != "" {
		text += " of instance " + instance
	}
	return text
}
