package sql

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// instanceState holds the outputs of an instance.
type instanceState struct {
	// DeletionProtection is a property of the provider only; the service does not store it.
	DeletionProtection *bool             `json:"deletionProtection,omitempty"`
	DatabaseVersion    string            `json:"databaseVersion"`
	Name               string            `json:"name"`
	Project            string            `json:"project"`
	Region             string            `json:"region"`
	Settings           *instanceSettings `json:"settings,omitempty"`
	EncryptionKeyName  string            `json:"encryptionKeyName"`

	AvailableMaintenanceVersions []string              `json:"availableMaintenanceVersions"`
	ConnectionName               string                `json:"connectionName"`
	DNSName                      string                `json:"dnsName"`
	FirstIPAddress               string                `json:"firstIpAddress"`
	InstanceType                 string                `json:"instanceType"`
	IPAddresses                  []*sqladmin.IpMapping `json:"ipAddresses"`
	MaintenanceVersion           string                `json:"maintenanceVersion"`
	MasterInstanceName           string                `json:"masterInstanceName"`
	PrivateIPAddress             string                `json:"privateIpAddress"`
	PscServiceAttachmentLink     string                `json:"pscServiceAttachmentLink"`
	PublicIPAddress              string                `json:"publicIpAddress"`
	SelfLink                     string                `json:"selfLink"`
	ServerCaCerts                []serverCaCert        `json:"serverCaCerts"`
	ServiceAccountEmailAddress   string                `json:"serviceAccountEmailAddress"`
}

type serverCaCert struct {
	Cert            string `json:"cert"`
	CommonName      string `json:"commonName"`
	CreateTime      string `json:"createTime"`
	ExpirationTime  string `json:"expirationTime"`
	Sha1Fingerprint string `json:"sha1Fingerprint"`
}

// liveInstance returns the current state of an instance.
func (g provider) liveInstance(ctx context.Context, project, name string) (instanceState, error) {
	svc, err := g.SQL(ctx)
	if err != nil {
		return instanceState{}, err
	}
	i, err := svc.Instances.Get(project, name).Context(ctx).Do()
	if err != nil {
		return instanceState{}, core.Explain(err)
	}
	state := instanceState{
		DatabaseVersion: i.DatabaseVersion, Name: i.Name, Project: project, Region: i.Region, Settings: settingsOf(i.Settings),
		AvailableMaintenanceVersions: i.AvailableMaintenanceVersions, ConnectionName: i.ConnectionName, DNSName: i.DnsName,
		InstanceType: i.InstanceType, IPAddresses: i.IpAddresses, MaintenanceVersion: i.MaintenanceVersion,
		MasterInstanceName:       strings.TrimPrefix(i.MasterInstanceName, project+":"),
		PscServiceAttachmentLink: i.PscServiceAttachmentLink, SelfLink: i.SelfLink,
		ServerCaCerts: []serverCaCert{}, ServiceAccountEmailAddress: i.ServiceAccountEmailAddress,
	}
	if e := i.DiskEncryptionConfiguration; e != nil {
		state.EncryptionKeyName = e.KmsKeyName
	}
	for _, ip := range i.IpAddresses {
		if state.FirstIPAddress == "" {
			state.FirstIPAddress = ip.IpAddress
		}
		if ip.Type == "PRIMARY" && state.PublicIPAddress == "" {
			state.PublicIPAddress = ip.IpAddress
		}
		if ip.Type == "PRIVATE" && state.PrivateIPAddress == "" {
			state.PrivateIPAddress = ip.IpAddress
		}
	}
	if c := i.ServerCaCert; c != nil {
		state.ServerCaCerts = []serverCaCert{{c.Cert, c.CommonName, c.CreateTime, c.ExpirationTime, c.Sha1Fingerprint}}
	}
	return state, nil
}

func (g provider) readInstance(ctx context.Context, r instanceRequest) (string, instanceState, error) {
	parts, err := core.ParseID(r.ID, instanceIDPatterns)
	if err != nil {
		return "", instanceState{}, err
	}
	project, err := g.Project(cmp.Or(parts["project"], r.State.Project))
	if err != nil {
		return "", instanceState{}, err
	}
	state, err := g.liveInstance(ctx, project, parts["name"])
	if err == nil && r.Importing {
		// The service does not store the property, so an imported instance gets the provider's default.
		protected := true
		state.DeletionProtection = &protected
	}
	return parts["name"], state, err
}
