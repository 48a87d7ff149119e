package cloud_test

import (
	"strings"
	"testing"

	"google.golang.org/api/option"
	sqlv1 "google.golang.org/api/sqladmin/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

func TestPostgresIsAcceptedWithAWarning(t *testing.T) {
	c := newEmulator(t, false) // without a runtime for instances
	owner := c.owner()
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "strata", Region: "europe-west1", DatabaseVersion: "POSTGRES_15", RootPassword: "x", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	if err != nil || op.ApiWarning == nil || !strings.Contains(op.ApiWarning.Message, "no engine for POSTGRES_15") {
		t.Fatalf("operation is %+v, %v", op, err)
	}
	c.waitSQL(owner, op, err)
	found, err := owner.sql.Instances.Get(projectID, "strata").Do()
	if err != nil || found.State != "RUNNABLE" || !strings.Contains(found.DatabaseInstalledVersion, "no engine") || len(found.IpAddresses) != 0 {
		t.Errorf("instance is %+v, %v", found, err)
	}
	op, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "shop"}).Do()
	if err != nil || op.ApiWarning == nil {
		t.Errorf("operation is %+v, %v", op, err)
	}
	_, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "shop"}).Do()
	refused(t, err, 400, "already exists")
	_, err = owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "template1"}).Do()
	refused(t, err, 400, "Incorrect database name")
	for _, name := range []string{"web", "api"} {
		op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: name, Password: "x"}).Do()
		c.waitSQL(owner, op, err)
	}
	op, err = owner.sql.Users.Update(projectID, "strata", &sqladmin.User{Name: "postgres", Password: "y"}).Name("postgres").Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Delete(projectID, "strata").Name("api").Do()
	c.waitSQL(owner, op, err)
	_, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "x", Host: "%"}).Do()
	refused(t, err, 400, "host")

	c.restart(false)
	var names []string
	databases, err := owner.sql.Databases.List(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range databases.Items {
		names = append(names, db.Name+" "+db.Charset)
	}
	users, err := owner.sql.Users.List(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range users.Items {
		names = append(names, user.Name)
	}
	if got := strings.Join(names, ", "); got != "postgres UTF8, shop UTF8, postgres, web" {
		t.Errorf("databases and users are %s", got)
	}
	listed, err := owner.sql.Instances.List(projectID).Do()
	if err != nil || len(listed.Warnings) != 1 {
		t.Errorf("instances are %+v, %v; want a warning", listed, err)
	}
	op, err = owner.sql.Databases.Delete(projectID, "strata", "shop").Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Instances.Delete(projectID, "strata").Do()
	c.waitSQL(owner, op, err)
}

func TestListsOfCloudSQLHavePages(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	for _, name := range []string{"a", "b", "c"} {
		op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
			Name: name, DatabaseVersion: "POSTGRES_15", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
		}).Do()
		c.waitSQL(owner, op, err)
	}
	var pages []string
	err := owner.sql.Instances.List(projectID).MaxResults(2).Pages(t.Context(), func(page *sqladmin.InstancesListResponse) error {
		names := ""
		for _, item := range page.Items {
			names += item.Name
		}
		pages = append(pages, names)
		return nil
	})
	if err != nil || strings.Join(pages, " ") != "ab c" {
		t.Errorf("pages are %v, %v", pages, err)
	}
	pages = nil
	err = owner.sql.Operations.List(projectID).MaxResults(2).Pages(t.Context(), func(page *sqladmin.OperationsListResponse) error {
		names := ""
		for _, item := range page.Items {
			names += item.TargetId
		}
		pages = append(pages, names)
		return nil
	})
	if err != nil || strings.Join(pages, " ") != "cb a" {
		t.Errorf("pages of operations are %v, %v", pages, err)
	}
	// The same API in its newer version.
	newer, err := sqlv1.NewService(t.Context(), option.WithTokenSource(c.login(c.engineer)), option.WithEndpoint(c.url+"/sqladmin/"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := newer.Instances.Get(projectID, "b").Do()
	if err != nil || found.ConnectionName != "strata-local:us-central1:b" {
		t.Errorf("instance is %+v, %v", found, err)
	}
	_, err = newer.Instances.List(projectID).Filter("state:RUNNABLE").Do()
	refused(t, err, 400, "filter")
}
