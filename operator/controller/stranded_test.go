package controller_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
)

// lines sends each write of a log to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func TestLogNamesTheCommandsForAStrandedStack(t *testing.T) {
	c := startCluster(t)
	tm := newTeam(t, c)
	const name = "operator-of-namespaces"
	user, err := c.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}
	look := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"pulumi.com"}, Resources: []string{"stacks", "programs"}, Verbs: []string{"get", "list", "watch"}},
	}}
	change := &rbacv1.Role{ObjectMeta: tm.meta(name), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"pulumi.com"}, Resources: []string{"stacks", "stacks/status"}, Verbs: []string{"patch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: tm.meta(name), Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
	c.create(t, look, change, binding, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
	logged := make(lines, 1000)
	startOperatorWith(t, c, func(opts *controller.Options) {
		opts.Config, opts.Namespace = user.Config(), ""
		opts.Log = slog.New(slog.NewJSONHandler(logged, nil))
	})
	kinds := map[string]string{"kept": "", "destroyed": "  destroyOnFinalize: true\n"}
	for kind, spec := range kinds {
		tm.apply(t, &v1.Stack{}, "metadata: {name: "+kind+"}\nspec:"+sourceEnv+"  programRef: {name: none}\n"+spec)
		got := tm.await(t, kind, "seen", func(s *v1.Stack) bool { return condition(s, v1.ReadyCondition).Status == metav1.ConditionFalse })
		before := got.DeepCopy()
		got.Status.ProjectInfo = &v1.ProjectInfo{Name: "shop", Stack: "dev", Backend: "file:///x"}
		if err := c.Status().Patch(t.Context(), got, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	tm.remove(t, binding)
	for kind := range kinds {
		tm.remove(t, &v1.Stack{ObjectMeta: tm.meta(kind)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	command := regexp.MustCompile(`kubectl patch stacks.pulumi.com (\S+) -n (\S+) --type=json -p '(.*?)'`)
	for len(kinds) > 0 {
		var line string
		select {
		case text := <-logged:
			line = strings.ReplaceAll(text, `\"`, `"`)
		case <-ctx.Done():
			t.Fatalf("the log does not say how to let go of %v", kinds)
		}
		found := command.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if left := strings.Contains(line, "the resources in stack dev of project shop in file:///x then stay"); left != (found[1] == "destroyed") {
			t.Errorf("of what is left: %v, in %s", left, line)
		}
		delete(kinds, found[1])
		stack := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Name: found[1], Namespace: found[2]}}
		if err := c.Patch(t.Context(), stack, client.RawPatch(types.JSONPatchType, []byte(found[3]))); err != nil {
			t.Errorf("what the log says to do fails: %v", err)
		}
		tm.await(t, found[1], "gone", gone)
	}
}
