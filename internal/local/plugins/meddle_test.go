package plugins_test

import (
	"slices"
	"testing"

	"google.golang.org/api/cloudkms/v1"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"
)

// meddle changes most objects of the program, and deletes others.
func (o owner) meddle(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	account := "projects/" + project + "/serviceAccounts/team-web@" + project + ".iam.gserviceaccount.com"
	nodes := "projects/" + project + "/serviceAccounts/strata-nodes@" + project + ".iam.gserviceaccount.com"
	cluster := "projects/" + project + "/locations/europe-west1-b/clusters/strata"
	for name, do := range map[string]func() error{
		"account": func() error {
			_, err := o.iam.Projects.ServiceAccounts.Patch(account, &iam.PatchServiceAccountRequest{
				ServiceAccount: &iam.ServiceAccount{DisplayName: "Meddled"}, UpdateMask: "displayName",
			}).Context(ctx).Do()
			return err
		},
		"role": func() error {
			_, err := o.iam.Projects.Roles.Patch("projects/"+project+"/roles/reader", &iam.Role{
				IncludedPermissions: []string{"cloudsql.instances.get"},
			}).UpdateMask("includedPermissions").Context(ctx).Do()
			return err
		},
		"minters": func() error {
			_, err := o.iam.Projects.ServiceAccounts.SetIamPolicy(nodes, &iam.SetIamPolicyRequest{Policy: &iam.Policy{}}).Context(ctx).Do()
			return err
		},
		"bucket": func() error {
			_, err := o.storage.Buckets.Patch("strata-local-state", &storage.Bucket{
				Labels: map[string]string{"title": "meddled"}, Versioning: &storage.BucketVersioning{ForceSendFields: []string{"Enabled"}},
			}).Context(ctx).Do()
			return err
		},
		"writer": func() error {
			p, err := o.storage.Buckets.GetIamPolicy("strata-local-state").Context(ctx).Do()
			if err != nil {
				return err
			}
			p.Bindings = slices.DeleteFunc(p.Bindings, func(b *storage.PolicyBindings) bool { return b.Role == "roles/storage.objectUser" })
			_, err = o.storage.Buckets.SetIamPolicy("strata-local-state", p).Context(ctx).Do()
			return err
		},
		"sealer": func() error {
			_, err := o.keys.Projects.Locations.KeyRings.CryptoKeys.SetIamPolicy(stateKey, &cloudkms.SetIamPolicyRequest{Policy: &cloudkms.Policy{}}).Context(ctx).Do()
			return err
		},
		"cluster and pool": func() error {
			// A cluster accepts one change at a time.
			pools := o.container.Projects.Locations.Clusters.NodePools
			if _, err := pools.SetSize(cluster+"/nodePools/main", &container.SetNodePoolSizeRequest{NodeCount: 5}).Context(ctx).Do(); err != nil {
				return err
			}
			live, err := o.container.Projects.Locations.Clusters.Get(cluster).Context(ctx).Do()
			if err != nil {
				return err
			}
			_, err = o.container.Projects.Locations.Clusters.SetResourceLabels(cluster, &container.SetLabelsRequest{
				LabelFingerprint: live.LabelFingerprint, ResourceLabels: map[string]string{"made-by": "somebody"},
			}).Context(ctx).Do()
			return err
		},
		"user, database and instance": func() error {
			if _, err := o.sql.Users.Delete(project, "strata").Name("shop").Host("%").Context(ctx).Do(); err != nil {
				return err
			}
			if _, err := o.sql.Databases.Delete(project, "strata", "shop").Context(ctx).Do(); err != nil {
				return err
			}
			_, err := o.sql.Instances.Patch(project, "strata", &sqladmin.DatabaseInstance{
				Settings: &sqladmin.Settings{
					UserLabels:          map[string]string{"made-by": "somebody"},
					BackupConfiguration: &sqladmin.BackupConfiguration{ForceSendFields: []string{"Enabled", "BinaryLogEnabled"}},
				},
			}).Context(ctx).Do()
			return err
		},
		"service": func() error {
			_, err := o.services.Services.Disable("projects/"+project+"/services/pubsub.googleapis.com", nil).Context(ctx).Do()
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatalf("meddle with %s: %v", name, err)
		}
	}
}

// requireNothing checks that the project contains no object of the program.
func (o owner) requireNothing(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	clusters, err := o.container.Projects.Locations.Clusters.List("projects/" + project + "/locations/-").Context(ctx).Do()
	if err != nil || len(clusters.Clusters) > 0 {
		t.Errorf("clusters: %v, %v", clusters, err)
	}
	instances, err := o.sql.Instances.List(project).Context(ctx).Do()
	if err != nil || len(instances.Items) > 0 {
		t.Errorf("instances: %v, %v", instances, err)
	}
	buckets, err := o.storage.Buckets.List(project).Context(ctx).Do()
	if err != nil || len(buckets.Items) > 0 {
		t.Errorf("buckets: %v, %v", buckets, err)
	}
	accounts, err := o.iam.Projects.ServiceAccounts.List("projects/" + project).Context(ctx).Do()
	if err != nil || len(accounts.Accounts) != 1 {
		t.Errorf("service accounts: %v, %v; want only the deployer", accounts, err)
	}
	policy, err := o.projects.Projects.GetIamPolicy(project, &crm.GetIamPolicyRequest{
		Options: &crm.GetPolicyOptions{RequestedPolicyVersion: 3},
	}).Context(ctx).Do()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range policy.Bindings {
		if b.Condition != nil {
			t.Errorf("the conditional binding of %s still exists", b.Role)
		}
	}
}
