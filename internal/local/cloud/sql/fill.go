package sql

import (
	"strconv"
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/settings"
)

// fillInstance sets the fields that Google Cloud sets in a new instance.
func (s *service) fillInstance(c *api.Call, made *instance) {
	in := made.Instance
	api.SetDefault(&in.Region, "us-central1")
	api.SetDefault(&in.GceZone, api.ZonesOf(in.Region)[0])
	in.Kind = "sql#instance"
	in.Project = c.Project.ID
	in.State = "PENDING_CREATE"
	in.BackendType = "SECOND_GEN"
	in.InstanceType = "CLOUD_SQL_INSTANCE"
	in.DatabaseInstalledVersion = made.family().Installed(in.DatabaseVersion)
	in.ConnectionName = in.Project + ":" + in.Region + ":" + in.Name
	in.SelfLink = s.instanceLink(in.Project, in.Name)
	in.CreateTime = api.Timestamp(s.Now())
	in.IpAddresses, in.ServerCaCert = nil, nil
	in.ServiceAccountEmailAddress = "p" + strconv.FormatInt(c.Project.Number, 10) + "-" + strings.ToLower(api.RandomDigits(6)) + "@gcp-sa-cloud-sql.iam.gserviceaccount.com"
	settings.Fill(in.Settings)
	in.Settings.SettingsVersion = 1
	in.Etag = api.RandomText(32)
}

// addresses returns the IP addresses of the instance in the API's form, if address is not empty.
func (i *instance) addresses(address string) []*sqladmin.IpMapping {
	var mapped []*sqladmin.IpMapping
	if ip := i.Instance.Settings.IpConfiguration; address != "" {
		if ip.Ipv4Enabled {
			mapped = append(mapped, &sqladmin.IpMapping{Type: "PRIMARY", IpAddress: address})
		}
		if ip.PrivateNetwork != "" {
			mapped = append(mapped, &sqladmin.IpMapping{Type: "PRIVATE", IpAddress: address})
		}
	}
	return mapped
}
