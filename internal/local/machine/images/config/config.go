// Package config reads the configuration of an image: what its containers run, and as which user.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// Config is the configuration of an image. Fields that the image does not set are empty.
type Config struct {
	// Entrypoint and Cmd are the command: the arguments of Cmd follow those of Entrypoint.
	Entrypoint, Cmd []string
	// Env are variables as NAME=VALUE.
	Env []string
	// WorkingDir is an absolute path, "/" by default.
	WorkingDir string
	// User is the user of containers, see UserOf.
	User string
	// StopSignal is a name such as SIGQUIT or a number.
	StopSignal string
	// Volumes are the paths that the image declares as volumes, and ExposedPorts its ports, such as 80/tcp.
	Volumes, ExposedPorts map[string]struct{}
	Labels                map[string]string
}

// Decode decodes the configuration of an OCI or Docker image.
func Decode(content []byte) (Config, error) {
	var file v1.ConfigFile
	if err := json.Unmarshal(content, &file); err != nil {
		return Config{}, &fault.Error{Kind: fault.Corrupt, Object: "configuration of the image", Why: "it cannot be decoded", Cause: err}
	}
	c := file.Config
	config := Config{Entrypoint: c.Entrypoint, Cmd: c.Cmd, Env: c.Env, WorkingDir: c.WorkingDir, User: c.User,
		StopSignal: c.StopSignal, Volumes: c.Volumes, ExposedPorts: c.ExposedPorts, Labels: c.Labels}
	// Clean keeps ".." below the root, as containerd does.
	config.WorkingDir = path.Clean("/" + config.WorkingDir)
	return config, nil
}

// User is a user as the kernel knows it.
type User struct {
	UID, GID uint32
	// Groups are the supplementary groups from /etc/group, sorted as in the file. They are empty if the image's user names a
	// group, as in Docker.
	Groups []uint32
	// Name and Home are from /etc/passwd. They are empty if the user is not in that file.
	Name, Home string
}

// account is a line of /etc/passwd or /etc/group.
type account struct {
	name    string
	id, gid uint32
	home    string
	members []string
}

// UserOf resolves the user of an image: "", NAME, UID, NAME:GROUP and the other combinations of names and numbers. The empty
// user is 0. A number need not be in passwd and group, the image's /etc/passwd and /etc/group; a name that is missing there is
// an error of kind NoUser. Wrong lines of both files are ignored, as in Docker.
func UserOf(spec string, passwd, group []byte) (User, error) {
	wanted, wantedGroup, withGroup := strings.Cut(spec, ":")
	if wanted == "" {
		wanted = "0"
	}
	users, groups := accounts(passwd, true), accounts(group, false)
	var user User
	switch found, id, isNumber := find(users, wanted); {
	case found != nil:
		user = User{UID: found.id, GID: found.gid, Name: found.name, Home: found.home}
	case isNumber:
		user.UID = id
	default:
		return User{}, missing(spec, "user", wanted, "/etc/passwd")
	}
	if !withGroup || wantedGroup == "" {
		for _, g := range groups {
			for _, member := range g.members {
				if member == user.Name && user.Name != "" {
					user.Groups = append(user.Groups, g.id)
				}
			}
		}
		return user, nil
	}
	switch found, id, isNumber := find(groups, wantedGroup); {
	case found != nil:
		user.GID = found.id
	case isNumber:
		user.GID = id
	default:
		return User{}, missing(spec, "group", wantedGroup, "/etc/group")
	}
	return user, nil
}

// missing returns the error for a name that a file does not contain.
func missing(spec, what, name, file string) error {
	err := fault.New(fault.NoUser, "user "+strconv.Quote(spec)+" of the image", "the %s %s is not in its %s", what, strconv.Quote(name), file)
	err.Next = fmt.Sprintf("set runAsUser and runAsGroup to numbers, or add the %s to the image", what)
	return err
}

// find returns the account with a name, or with a number. The name wins: names may consist of digits.
func find(accounts []account, wanted string) (found *account, id uint32, isNumber bool) {
	number, err := strconv.ParseUint(wanted, 10, 32)
	// The highest number means "unchanged" to the kernel.
	isNumber = err == nil && number != math.MaxUint32
	for i := range accounts {
		if accounts[i].name == wanted {
			return &accounts[i], accounts[i].id, isNumber
		}
	}
	for i := range accounts {
		if isNumber && accounts[i].id == uint32(number) {
			return &accounts[i], accounts[i].id, true
		}
	}
	return nil, uint32(number), isNumber
}

// accounts parses /etc/passwd, or /etc/group.
func accounts(content []byte, isPasswd bool) []account {
	var found []account
	for line := range bytes.Lines(content) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 3 || fields[0] == "" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		id, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		a := account{name: fields[0], id: uint32(id)}
		if isPasswd && len(fields) > 3 {
			gid, err := strconv.ParseUint(fields[3], 10, 32)
			if err != nil {
				continue
			}
			a.gid = uint32(gid)
		}
		if isPasswd && len(fields) > 5 {
			a.home = fields[5]
		}
		if !isPasswd && len(fields) > 3 && fields[3] != "" {
			a.members = strings.Split(fields[3], ",")
		}
		found = append(found, a)
	}
	return found
}
