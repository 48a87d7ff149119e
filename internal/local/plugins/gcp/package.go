// Package gcp contains the local plugin that stands in for the official Google Cloud provider. Its packages have the
// names of the provider's modules. The plugin calls only an emulated Google Cloud, through Google's own clients.
package gcp

import (
	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/container"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/kms"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/projects"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/serviceaccount"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/sql"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/storage"
)

// Version is the version of the official provider that the plugin stands in for: that of the SDK in go.mod.
const Version = "7.38.0"

// Package describes the plugin. Each result has a provider of its own, which serves one plugin process.
func Package() frame.Package {
	p := &core.Provider{}
	return frame.Package{
		Name:          "gcp",
		Version:       Version,
		Description:   "Emulated Google Cloud, reached by Strata's local stand-in for the official provider.",
		Config:        sdk.ProviderArgs{},
		ConfigSecrets: []string{"accessToken", "credentials"},
		Configure:     p.Configure,
		Resources: map[string]frame.Resource{
			"gcp:container/cluster:Cluster":                 container.Cluster(p),
			"gcp:container/nodePool:NodePool":               container.NodePool(p),
			"gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": kms.CryptoKeyIAMMember(p),
			"gcp:projects/iAMCustomRole:IAMCustomRole":      projects.IAMCustomRole(p),
			"gcp:projects/iAMMember:IAMMember":              projects.IAMMember(p),
			"gcp:projects/service:Service":                  projects.Service(p),
			"gcp:serviceaccount/account:Account":            serviceaccount.Account(p),
			"gcp:serviceaccount/iAMBinding:IAMBinding":      serviceaccount.IAMBinding(p),
			"gcp:serviceaccount/iAMMember:IAMMember":        serviceaccount.IAMMember(p),
			"gcp:serviceaccount/key:Key":                    serviceaccount.Key(p),
			"gcp:sql/database:Database":                     sql.Database(p),
			"gcp:sql/databaseInstance:DatabaseInstance":     sql.DatabaseInstance(p),
			"gcp:sql/user:User":                             sql.User(p),
			"gcp:storage/bucket:Bucket":                     storage.Bucket(p),
			"gcp:storage/bucketIAMMember:BucketIAMMember":   storage.BucketIAMMember(p),
		},
		Functions: map[string]frame.Function{
			"gcp:sql/getDatabase:getDatabase":                 sql.GetDatabase(p),
			"gcp:sql/getDatabaseInstance:getDatabaseInstance": sql.GetDatabaseInstance(p),
		},
	}
}
