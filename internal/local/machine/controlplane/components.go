package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// auditPolicy logs metadata of requests without bodies, because bodies contain Secrets. It omits reads by the system's
// own components, which would outnumber everything else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver"]
- level: None
  userGroups: ["system:nodes"]
- level: None
  verbs: [get, list, watch]
- level: None
  resources:
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
`

// egress makes the API server open its connections to pods, Services and the node through a socket, because pods have no
// addresses on this machine (Kubernetes, KEP-1281). The API server's working folder contains the socket, so that its
// path is short.
const egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`

// start starts the programs in the order of their dependencies. The API server itself waits for etcd.
func (c *ControlPlane) start(ctx context.Context, apiPort int) error {
	dir, p := c.home.Kubernetes(), c.pki()
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := home.KeepFile(policy, []byte(auditPolicy)); err != nil {
		return err
	}
	selector := filepath.Join(dir, "egress.yaml")
	if err := home.KeepFile(selector, fmt.Appendf(nil, egress, filepath.Base(c.home.PodsSocket()))); err != nil {
		return err
	}
	if err := c.prepareStore(); err != nil {
		return fmt.Errorf("create etcd's data: %w", err)
	}
	encryption, err := c.ensureEncryption()
	if err != nil {
		return err
	}
	if err := c.keep(ctx, "etcd",
		"--name=local",
		"--data-dir="+store(c.home),
		"--listen-client-urls="+c.etcd,
		"--advertise-client-urls="+c.etcd,
		// A single member has no peers, so any free port suits. A peer may propose any change, so peers must present a
		// certificate. On a Unix socket, etcd would ask for none (etcd, client/pkg/transport, newListener), and a
		// team's run can connect to a Unix socket.
		"--listen-peer-urls=https://127.0.0.1:0",
		"--peer-cert-file="+p.cert("etcd"), "--peer-key-file="+p.key("etcd"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file="+p.cert("etcd-ca"),
		"--initial-advertise-peer-urls=http://localhost:2380",
		"--initial-cluster=local=http://localhost:2380",
		"--cert-file="+p.cert("etcd"), "--key-file="+p.key("etcd"),
		"--client-cert-auth", "--trusted-ca-file="+p.cert("etcd-ca"),
		"--log-level=warn",
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=1h",
	); err != nil {
		return err
	}
	if err := c.waitStore(ctx); err != nil {
		return err
	}
	if err := c.keep(ctx, "kube-apiserver",
		"--etcd-servers="+c.etcd, "--encryption-provider-config="+encryption,
		"--etcd-cafile="+p.cert("etcd-ca"), "--etcd-certfile="+p.cert("etcd-client"), "--etcd-keyfile="+p.key("etcd-client"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", apiPort),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file="+p.cert("kube-apiserver"), "--tls-private-key-file="+p.key("kube-apiserver"),
		"--client-ca-file="+p.cert("ca"),
		"--service-account-issuer="+issuer,
		// By default a pod's token is valid for a year, for clients that do not read it again.
		"--service-account-extend-token-expiration=false",
		"--service-account-key-file="+p.cert("service-account"), "--service-account-signing-key-file="+p.key("service-account"),
		"--service-cluster-ip-range="+serviceRange,
		"--authorization-mode=Node,RBAC", "--anonymous-auth=false",
		// As on Google Kubernetes Engine, no Service takes over an address outside the cluster (CVE-2020-8554).
		"--enable-admission-plugins=NodeRestriction,DenyServiceExternalIPs",
		"--egress-selector-config-file="+selector,
		// Many charts have privileged pods. The node simulates them like other pods.
		"--allow-privileged",
		"--kubelet-certificate-authority="+p.cert("ca"), "--kubelet-preferred-address-types=ExternalIP",
		"--kubelet-client-certificate="+p.cert(kubeletClient), "--kubelet-client-key="+p.key(kubeletClient),
		"--audit-policy-file="+policy, "--audit-log-path="+filepath.Join(c.home.Logs(), "audit.log"),
		"--audit-log-maxsize=16", "--audit-log-maxbackup=1",
	); err != nil {
		return err
	}
	if err := c.wait(ctx, "kube-apiserver", "to be ready", c.serves); err != nil {
		return err
	}
	if err := c.encryptStored(ctx); err != nil {
		return err
	}
	if err := c.keep(ctx, "kube-controller-manager",
		"--kubeconfig="+c.kubeconfig(controllerManagerClient),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+p.key("service-account"),
		"--root-ca-file="+p.cert("ca"),
		// Every controller requests a token of its own when it starts. With the limits for a shared cluster, that
		// takes seconds.
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--leader-elect=false", "--secure-port=0",
	); err != nil {
		return err
	}
	if err := c.keep(ctx, "kube-scheduler",
		"--kubeconfig="+c.kubeconfig(schedulerClient),
		"--leader-elect=false", "--secure-port=0",
	); err != nil {
		return err
	}
	return c.wait(ctx, "kube-controller-manager", "to create the first service account", c.admitsPods)
}

// keep starts a program of the toolchain and keeps it running until Stop.
func (c *ControlPlane) keep(ctx context.Context, name string, args ...string) error {
	path, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	var env []string
	if name == "etcd" {
		// It is mostly idle. A low GOGC makes it collect garbage sooner and use less memory. Kubernetes' programs adapt
		// their garbage collectors themselves: see tools/kubernetes.
		env = append(env, "GOGC=25")
	}
	child, err := process.Keep(process.Spec{
		Name: name,
		Path: path,
		Args: args,
		Env:  append(env, "HOME="+c.home.Kubernetes(), "TMPDIR="+os.TempDir()),
		Dir:  c.home.Kubernetes(),
		Log:  c.home.Log(name),
	}, stopGrace)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = append(c.children, child)
	return nil
}
