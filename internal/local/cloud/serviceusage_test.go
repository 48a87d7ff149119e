package cloud_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/api/serviceusage/v1"
)

func TestCallsOfADisabledAPIFail(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	name := "projects/" + projectID + "/services/container.googleapis.com"
	list := func() error {
		_, err := owner.container.Projects.Locations.Clusters.List(parent).Do()
		return err
	}
	if _, err := owner.services.Services.Disable(name, nil).Do(); err != nil {
		t.Fatal(err)
	}
	refused(t, list(), 403, "Kubernetes Engine API has not been used in project", "SERVICE_DISABLED", "accessNotConfigured")
	found, err := owner.services.Services.Get(name).Do()
	if err != nil || found.State != "DISABLED" {
		t.Errorf("state %v, %v; want DISABLED", found, err)
	}
	op, err := owner.services.Services.Enable(name, nil).Do()
	if err != nil || !op.Done {
		t.Errorf("enable: %v, %v; want a finished operation", op, err)
	}
	if err := list(); err != nil {
		t.Errorf("call the enabled API: %v", err)
	}
}

func TestServicesKeepTheirState(t *testing.T) {
	c := newEmulator(t, false)
	services := c.owner().services.Services
	const project = "projects/" + projectID
	enabled := func() []string {
		t.Helper()
		var names []string
		err := services.List(project).Filter("state:ENABLED").PageSize(3).Fields("services/config/name", "nextPageToken").
			Pages(t.Context(), func(page *serviceusage.ListServicesResponse) error {
				for _, found := range page.Services {
					names = append(names, found.Config.Name)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := enabled()
	for _, name := range []string{"container", "sqladmin", "iam", "cloudresourcemanager", "serviceusage", "storage"} {
		if !slices.Contains(before, name+".googleapis.com") {
			t.Errorf("a new project has %v; %s is missing", before, name)
		}
	}
	const logging, dns = "logging.googleapis.com", "dns.googleapis.com"
	found, err := services.Get(project + "/services/" + logging).Do()
	if err != nil || found.State != "DISABLED" {
		t.Errorf("logging is %+v, %v; want DISABLED", found, err)
	}
	if _, err := services.BatchEnable(project, &serviceusage.BatchEnableServicesRequest{ServiceIds: []string{logging, dns}}).Do(); err != nil {
		t.Fatal(err)
	}
	if now := enabled(); len(now) != len(before)+2 || !slices.Contains(now, logging) || !slices.Contains(now, dns) {
		t.Errorf("enabled APIs are %v; want %v and two more", now, before)
	}
	if _, err := services.Disable(project+"/services/"+logging, &serviceusage.DisableServiceRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	all, err := services.BatchGet(project).Names(project+"/services/"+logging, project+"/services/"+dns).Do()
	if err != nil || len(all.Services) != 2 || all.Services[0].State != "DISABLED" || all.Services[1].State != "ENABLED" {
		t.Errorf("batchGet returns %+v, %v", all, err)
	}
	c.restart(false)
	if now := enabled(); slices.Contains(now, logging) || !slices.Contains(now, dns) {
		t.Errorf("after a restart the enabled APIs are %v", now)
	}
}

func TestInvalidServicesAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	services := c.owner().services.Services
	const project = "projects/" + projectID
	before, err := c.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	_, err = services.Enable(project+"/services/container", &serviceusage.EnableServiceRequest{}).Do()
	refused(t, err, 403, "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED")
	_, err = services.BatchEnable(project, &serviceusage.BatchEnableServicesRequest{ServiceIds: []string{"dns.googleapis.com", "nothing"}}).Do()
	refused(t, err, 403, "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED")
	_, err = services.BatchEnable(project, &serviceusage.BatchEnableServicesRequest{}).Do()
	refused(t, err, 400, "service_ids")
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprintf("service%d.googleapis.com", i))
	}
	_, err = services.BatchEnable(project, &serviceusage.BatchEnableServicesRequest{ServiceIds: many}).Do()
	refused(t, err, 400, "not 21")
	_, err = services.BatchGet(project).Names("projects/another-project/services/container.googleapis.com").Do()
	refused(t, err, 400, "no service of the project")
	_, err = services.List(project).Filter("name:x").Do()
	refused(t, err, 400, "filter")
	_, err = c.owner().services.Operations.Get("operations/none").Do()
	refused(t, err, 404, "operations/none")
	if after, err := c.Fingerprint(); err != nil || after != before {
		t.Errorf("a rejected request changed the store: %v", err)
	}
}
