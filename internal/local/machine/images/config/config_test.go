package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/config"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

const (
	passwd = "root:x:0:0:root:/root:/bin/sh\n# comment:x:9:9\nbroken\nwww-data:x:33:34:www:/var/www:/bin/sh\n70:x:71:72::/seventy:\n"
	group  = "root:x:0:\nwww:x:34:\nssl:x:101:other,www-data\nbad:x:minus:www-data\nlogs:x:102:www-data\n"
)

func TestUsersAreResolvedAsInDocker(t *testing.T) {
	www := config.User{UID: 33, GID: 34, Groups: []uint32{101, 102}, Name: "www-data", Home: "/var/www"}
	root := config.User{Name: "root", Home: "/root"}
	for spec, want := range map[string]config.User{
		"":             root,
		"0":            root,
		"root":         root,
		"www-data":     www,
		"33":           www,
		"33:":          www,
		"www-data:ssl": {UID: 33, GID: 101, Name: "www-data", Home: "/var/www"},
		"33:5000":      {UID: 33, GID: 5000, Name: "www-data", Home: "/var/www"},
		"4711":         {UID: 4711},
		"4711:www":     {UID: 4711, GID: 34},
		":ssl":         {GID: 101, Name: "root", Home: "/root"},
		"70":           {UID: 71, GID: 72, Name: "70", Home: "/seventy"},
	} {
		t.Run(spec, func(t *testing.T) {
			if got, err := config.UserOf(spec, []byte(passwd), []byte(group)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the user is %+v (%v), want %+v", got, err, want)
			}
		})
	}
}

func TestMissingNamesAreErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"nobody":     `user "nobody" of the image: the user "nobody" is not in its /etc/passwd; set runAsUser`,
		"33:nogroup": `user "33:nogroup" of the image: the group "nogroup" is not in its /etc/group; set runAsUser`,
		"-1":         `the user "-1" is not in its /etc/passwd`,
		"4294967295": `the user "4294967295" is not in its /etc/passwd`,
		"broken":     `the user "broken" is not in its /etc/passwd`,
		"two\nlines": `the user "two\nlines" is not in its /etc/passwd`,
	} {
		_, err := config.UserOf(spec, []byte(passwd), []byte(group))
		if fault.Of(err) != fault.NoUser || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
	if user, err := config.UserOf("", nil, nil); err != nil || user.UID != 0 {
		t.Errorf("without passwd the user is %+v (%v)", user, err)
	}
}

func TestAConfigurationIsDecoded(t *testing.T) {
	got, err := config.Decode([]byte(`{"config":{"Entrypoint":["/init"],"Cmd":["run"],"Env":["A=1"],"WorkingDir":"srv","User":"www","StopSignal":"SIGQUIT","ExposedPorts":{"80/tcp":{}}}}`))
	want := config.Config{Entrypoint: []string{"/init"}, Cmd: []string{"run"}, Env: []string{"A=1"}, WorkingDir: "/srv", User: "www",
		StopSignal: "SIGQUIT", ExposedPorts: map[string]struct{}{"80/tcp": {}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v (%v), want %+v", got, err, want)
	}
	if _, err := config.Decode([]byte("no JSON")); fault.Of(err) != fault.Corrupt {
		t.Errorf("the error is %v", err)
	}
}
