package cloud

import "strings"

// Endpoints returns the environment that directs the official Google provider of Terraform and Pulumi to the emulator
// at baseURL: its GOOGLE_<SERVICE>_CUSTOM_ENDPOINT variables. Each value ends in a version and a slash like the
// provider's default, because the provider's code removes or adds a version.
func Endpoints(baseURL string) map[string]string {
	base := strings.TrimSuffix(baseURL, "/")
	return map[string]string{
		"GOOGLE_COMPUTE_CUSTOM_ENDPOINT":             base + "/compute/beta/",
		"GOOGLE_CONTAINER_CUSTOM_ENDPOINT":           base + "/container/v1/",
		"GOOGLE_IAM_CUSTOM_ENDPOINT":                 base + "/iam/v1/",
		"GOOGLE_KMS_CUSTOM_ENDPOINT":                 base + "/cloudkms/v1/",
		"GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT":    base + "/cloudresourcemanager/v1/",
		"GOOGLE_RESOURCE_MANAGER_V3_CUSTOM_ENDPOINT": base + "/cloudresourcemanager/v3/",
		"GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT":       base + "/serviceusage/v1/",
		"GOOGLE_SQL_CUSTOM_ENDPOINT":                 base + "/sqladmin/sql/v1beta4/",
		"GOOGLE_STORAGE_CUSTOM_ENDPOINT":             base + "/storage/storage/v1/",
	}
}
