package platform

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/teams"
)

// Names of the ClusterRoles that this layer creates for the catalogue, if teams.yaml has one.
const (
	// RoleTeamOrders lets a team's account order. It has no rights on the status of an order.
	RoleTeamOrders = "strata:team-orders"
	// RoleOperatorOrders lets the operator handle the orders in a team's namespace and write their results there.
	RoleOperatorOrders = "strata:operator-orders"
	// RoleOperatorEntry lets the operator create and delete the Stacks of orders in the namespace of an entry.
	RoleOperatorEntry = "strata:operator-entry"

	// ordersBinding is the name of the RoleBinding of RoleOperatorOrders, or of RoleOperatorEntry, in a namespace.
	ordersBinding = "strata-orders"
)

// errUpstreamCatalogue refuses a catalogue for an operator that does not handle orders.
var errUpstreamCatalogue = errors.New("teams.yaml has a catalogue, and upstream's operator does not handle orders: remove the catalogue, or use the embedded operator")

// offers are the entries of the catalogue that the platform offers, with the settings of teams.yaml.
type offers struct {
	entries  []*catalogue.Entry
	settings map[string]teams.Offer
	// stratas are the names of the entries that Strata's repository contains, and not the platform's.
	stratas []string
}

// loadOffers reads the entries that teams.yaml names, from folder or from Strata. Flux applies the Program of an entry in folder
// from the platform repository, and that of an entry of Strata's from the commit that strata.yaml pins. A clone of Strata pins
// no commit, so it needs the folder.
func loadOffers(list []teams.Offer, folder string, upstream, organisation bool) (offers, error) {
	found := offers{settings: map[string]teams.Offer{}}
	if len(list) > 0 && upstream {
		return found, errUpstreamCatalogue
	}
	known := catalogue.In(folder)
	for _, offer := range list {
		entry, err := known.Load(offer.Name)
		if err != nil {
			return found, err
		}
		own, err := known.Own(offer.Name)
		if err != nil {
			return found, err
		}
		if !own && !organisation {
			return found, fmt.Errorf("teams.yaml offers %s, but %s does not exist: restore the folder with git, or remove the entry from teams.yaml",
				offer.Name, filepath.Join(folder, offer.Name))
		}
		if !own {
			found.stratas = append(found.stratas, offer.Name)
		}
		found.entries = append(found.entries, entry)
		found.settings[offer.Name] = offer
	}
	return found, nil
}

// source returns the repository with the Program of an entry. A push to the platform repository changes an entry at once;
// Strata's entries change only with the pinned commit.
func (o offers) source(config Config, pinned pins.Pins, team teams.Team) hop.Source {
	source := hop.Source{Path: pulumi.String(team.Path), Folders: []string{catalogue.Folder}, Interval: pulumi.String(config.Interval)}
	if !slices.Contains(o.stratas, team.Offer) {
		source.Webhook = config.hasReceivers()
		config.platform().Fill(&source)
		return source
	}
	source.URL, source.Branch, source.Commit = pulumi.String(config.StrataURL), pulumi.String(pinned.Branch()), pulumi.String(pinned.Sync.Commit)
	if config.StrataUsername != "" {
		source.Username, source.Password = pulumi.String(config.StrataUsername), config.StrataPassword.Input()
	}
	return source
}

// CatalogueRoles returns the rules of each ClusterRole that the catalogue adds, by its name. Its rules for RoleOperator
// come in addition to those of ClusterRoles.
func CatalogueRoles(entries []*catalogue.Entry) map[string][]rbac.PolicyRule {
	if len(entries) == 0 {
		return nil
	}
	var orders, statuses []string
	for _, entry := range entries {
		orders = append(orders, entry.Names.Plural)
		statuses = append(statuses, entry.Names.Plural+"/status")
	}
	return map[string][]rbac.PolicyRule{
		// A team may order wherever it is, so the operator watches every namespace.
		RoleOperator:   {allow(catalogue.Group, look, orders...)},
		RoleTeamOrders: {allow(catalogue.Group, change, orders...)},
		RoleOperatorOrders: {
			// The operator sets the order's finalizer, and writes its status.
			allow(catalogue.Group, []string{"patch"}, append(orders, statuses...)...),
			// The results of an order. The operator already reads both, and can act as the team's account, which may write
			// both.
			allow("", []string{"create", "patch"}, "secrets", "configmaps"),
		},
		// The operator already reads and patches every Stack there.
		RoleOperatorEntry: {allow("pulumi.com", []string{"create", "delete"}, "stacks")},
	}
}

// merge returns the ClusterRoles of the platform with those of its catalogue.
func merge(roles, more map[string][]rbac.PolicyRule) map[string][]rbac.PolicyRule {
	for name, rules := range more {
		roles[name] = append(slices.Clone(roles[name]), rules...)
	}
	return roles
}

// kinds creates the CustomResourceDefinition of each entry.
func (o offers) kinds(ctx *pulumi.Context, opts ...pulumi.ResourceOption) ([]pulumi.Resource, error) {
	var made []pulumi.Resource
	for _, entry := range o.entries {
		encoded, err := json.Marshal(entry.Definition().Spec)
		if err != nil {
			return nil, fmt.Errorf("catalogue entry %s: encode its kind: %w", entry.Name, err)
		}
		var spec map[string]any
		if err := json.Unmarshal(encoded, &spec); err != nil {
			return nil, fmt.Errorf("catalogue entry %s: encode its kind: %w", entry.Name, err)
		}
		kind, err := apiextensions.NewCustomResource(ctx, "catalogue-"+entry.Name, &apiextensions.CustomResourceArgs{
			ApiVersion:  pulumi.String("apiextensions.k8s.io/v1"),
			Kind:        pulumi.String("CustomResourceDefinition"),
			Metadata:    clusterMetadata(entry.Names.Plural + "." + catalogue.Group),
			OtherFields: kubernetes.UntypedArgs{"spec": pulumi.Any(spec)},
		}, opts...)
		if err != nil {
			return nil, err
		}
		made = append(made, kind)
	}
	return made, nil
}

// allowOrders lets a team's accounts that run Stacks order. The operator holds the team to the number of orders of each
// entry: a ResourceQuota of a new kind refuses every object until Kubernetes has counted them, which takes five minutes.
func (o offers) allowOrders(team teams.Team, args *hop.HopArgs) {
	if len(o.entries) == 0 || team.Offer != "" {
		return
	}
	if slices.Contains(team.May, teams.MayStacks) {
		args.Roles = append(args.Roles, RoleTeamOrders)
	}
	for i, account := range team.Accounts {
		if slices.Contains(account.May, teams.MayStacks) {
			args.Accounts[i].Roles = append(args.Accounts[i].Roles, RoleTeamOrders)
		}
	}
	args.Policy.Orders = map[string]int{}
	for _, entry := range o.entries {
		args.Policy.Orders[entry.Name] = o.settings[entry.Name].PerTeam
	}
}

// bindOperator gives the operator its rights for orders in the namespace of a team, or of an entry.
func (o offers) bindOperator(ctx *pulumi.Context, team teams.Team, made *hop.Hop, opts ...pulumi.ResourceOption) error {
	if len(o.entries) == 0 {
		return nil
	}
	role := RoleOperatorOrders
	if team.Offer != "" {
		role = RoleOperatorEntry
	}
	_, err := rbacv1.NewRoleBinding(ctx, "orders-"+team.Name, &rbacv1.RoleBindingArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(ordersBinding), Namespace: made.Namespace, Labels: labels()},
		RoleRef:  roleRef("ClusterRole", pulumi.String(role)),
		Subjects: rbacv1.SubjectArray{&rbacv1.SubjectArgs{
			Kind: pulumi.String("ServiceAccount"), Namespace: pulumi.String(OperatorNamespace), Name: pulumi.String(OperatorAccount),
		}},
	}, append(slices.Clone(opts), pulumi.DependsOn([]pulumi.Resource{made}), pulumi.DeletedWith(made))...)
	return err
}
