package sql

import (
	"errors"
	"net/http"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

// The calls in this file are those of Google's connectors, such as the Cloud SQL Auth Proxy. The source of their
// permissions is https://cloud.google.com/sql/docs/mysql/iam-permissions, and of the fields that connectors read
// cloud.google.com/go/cloudsqlconn, internal/cloudsql/refresh.go.

// authorities holds the certificate authorities of instances, with their keys. The API shows only certificates.
const authorities store.Table = "sqlAuthorities" // <project>/<instance>

// proxied returns the name of the instance for certificates.
func (i *instance) proxied() serverproxy.Instance {
	return serverproxy.Instance{Project: i.Instance.Project, Region: i.Instance.Region, Name: i.Instance.Name}
}

// authorities returns the certificate authorities of an instance, or nil if the instance has none yet.
func (s *service) authorities(key string) (found *serverproxy.Authorities, err error) {
	err = s.Store.View(func(tx *bbolt.Tx) error {
		found, err = store.Get[serverproxy.Authorities](tx, authorities, key)
		return err
	})
	return found, err
}

// ensureAuthorities returns the authorities of an instance. It makes them at the first start of the server, so that an
// instance from an earlier version of the emulator gets them, too.
func (s *service) ensureAuthorities(key string) (*serverproxy.Authorities, error) {
	if found, err := s.authorities(key); err != nil || found != nil {
		return found, err
	}
	made, err := serverproxy.NewAuthorities(s.Now())
	if err != nil {
		return nil, err
	}
	return made, s.Store.Update(func(tx *bbolt.Tx) error {
		on, err := requireInstance(tx, key)
		if err != nil {
			return err
		}
		if on.Instance.ServerCaCert, err = made.ServerCert(on.proxied()); err != nil {
			return err
		}
		return errors.Join(store.Put(tx, authorities, key, made), store.Put(tx, instances, key, on))
	})
}

// connectSettings returns the properties of an instance that a connector needs before it connects.
func (s *service) connectSettings(c *api.Call) (any, error) {
	found, err := s.instance(c)
	if err != nil {
		return nil, err
	}
	return found.proxied().ConnectSettings(c.Request.Context(), found.Instance), nil
}

// generateEphemeralCert returns a certificate for the public key in the request. With it, a connector can connect to the
// instance for an hour. The emulator checks the permissions of the caller only here: a certificate outlives them.
func (s *service) generateEphemeralCert(c *api.Call) (any, error) {
	var request sqladmin.GenerateEphemeralCertRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	found, err := s.instance(c)
	if err != nil {
		return nil, err
	}
	if found.Instance.State != "RUNNABLE" || !found.runs() || s.servers.get(found.key()) == nil {
		return nil, api.LegacyInvalid("Invalid request: Invalid request since instance is not running.")
	}
	public, err := serverproxy.ParsePublicKey(request.PublicKey)
	if err != nil {
		return nil, api.LegacyInvalid("Invalid request: Provided public key was in an invalid or unsupported format: %v.", err)
	}
	now := s.Now()
	until, err := serverproxy.ParseEnd(request.ValidDuration, now)
	if err != nil {
		return nil, err
	}
	member := c.Who.Member
	if request.AccessToken != "" {
		login, expires, err := s.login(c, request.AccessToken)
		if err != nil {
			return nil, err
		}
		if member = login.Member; expires.Before(until) {
			until = expires
		}
	}
	signers, err := s.authorities(found.key())
	if err == nil && signers == nil {
		err = noInstance() // deleted since
	}
	if err != nil {
		return nil, err
	}
	certificate, err := signers.Ephemeral(found.proxied(), public, member, now, until)
	if err != nil {
		return nil, err
	}
	return &sqladmin.GenerateEphemeralCertResponse{EphemeralCert: certificate}, nil
}

// login returns the principal of an access token with which a connector logs in to the database, and the token's end.
// The emulator has no database users for principals, so the token only restricts the certificate.
func (s *service) login(c *api.Call, token string) (api.Principal, time.Time, error) {
	who, expires, err := s.LoginToken(token)
	if err != nil {
		return api.Principal{}, time.Time{}, err
	}
	const permission = "cloudsql.instances.login"
	err = s.Store.View(func(tx *bbolt.Tx) error {
		granted, err := s.Allowed(tx, who, permission, onInstance(c))
		if err == nil && !granted {
			return denied(who, permission, onInstance(c))
		}
		return err
	})
	return who, expires, err
}

// denied is the service's error for a missing permission.
func denied(_ api.Principal, permission string, on api.Resource) *api.Error {
	return api.LegacyError(http.StatusForbidden, "forbidden",
		"boss::NOT_AUTHORIZED: Not authorized to access resource. Possibly missing permission %s on resource %s.", permission, on.Name)
}
