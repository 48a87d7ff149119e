package local

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// Instance describes an instance by its name and address.
func (p *Platform) Instance(ctx context.Context, name string) (string, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return "", err
	}
	address, err := p.instanceAddress(ctx, running, name)
	return fmt.Sprintf("%s (MySQL on %s)", name, address), err
}

// sql returns a client of the emulated Cloud SQL API, authenticated as the engineer.
func (p *Platform) sql(ctx context.Context, running supervisor.Status) (*sqladmin.Service, error) {
	options, err := cloudClient{running.GoogleURL, p.Home.EngineerCredentials()}.options(ctx, "GOOGLE_SQL_CUSTOM_ENDPOINT")
	if err != nil {
		return nil, err
	}
	return sqladmin.NewService(ctx, options...)
}

// instanceAddress returns the address of an instance.
func (p *Platform) instanceAddress(ctx context.Context, running supervisor.Status, name string) (string, error) {
	service, err := p.sql(ctx, running)
	if err != nil {
		return "", err
	}
	instance, err := service.Instances.Get(home.Project, name).Context(ctx).Do()
	if err != nil {
		return "", fmt.Errorf("find the address of Cloud SQL instance %s: %w", name, err)
	}
	if len(instance.IpAddresses) == 0 {
		return "no address", nil
	}
	return net.JoinHostPort(instance.IpAddresses[0].IpAddress, mysqlPort), nil
}

// mysqlPort is the port of every instance.
const mysqlPort = "3306"
