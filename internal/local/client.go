package local

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// clusterClient returns a client for Stacks and Kubernetes' own objects, with the administrator's credentials.
func (p *Platform) clusterClient() (client.Client, error) {
	config, err := p.AdminConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(pulumiv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}
