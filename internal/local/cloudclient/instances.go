package cloudclient

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/api/sqladmin/v1beta4"
)

// mysqlPort is the port of every instance.
const mysqlPort = "3306"

// SQL returns a client of the emulated Cloud SQL API.
func (c Client) SQL(ctx context.Context) (*sqladmin.Service, error) {
	options, err := c.options(ctx, "GOOGLE_SQL_CUSTOM_ENDPOINT")
	if err != nil {
		return nil, err
	}
	return sqladmin.NewService(ctx, options...)
}

// InstanceAddress returns the address of a Cloud SQL instance, in the form host:port, or "no address" if it has none.
func (c Client) InstanceAddress(ctx context.Context, name string) (string, error) {
	service, err := c.SQL(ctx)
	if err != nil {
		return "", err
	}
	instance, err := service.Instances.Get(c.Project, name).Context(ctx).Do()
	if err != nil {
		return "", fmt.Errorf("find the address of Cloud SQL instance %s: %w", name, err)
	}
	if len(instance.IpAddresses) == 0 {
		return "no address", nil
	}
	return net.JoinHostPort(instance.IpAddresses[0].IpAddress, mysqlPort), nil
}
