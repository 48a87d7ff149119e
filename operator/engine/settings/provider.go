package settings

import "slices"

const providerSetting = "secretsprovider"

// ByPassphrase reports whether a secrets provider is the passphrase of the environment, which is the default of file backends
// and buckets.
func ByPassphrase(provider string) bool {
	return slices.Contains([]string{"", "default", "passphrase"}, provider)
}

// CheckProvider returns an [*InvalidError] if the settings would encrypt the stack by another provider than the given one.
// Pulumi follows the settings of a project before the options of a run.
func (f File) CheckProvider(provider string) error {
	own, salt := "", ""
	err := f.read(func(settings map[string]any) {
		own, _ = settings[providerSetting].(string)
		salt, _ = settings[saltSetting].(string)
	})
	switch {
	case err != nil:
		return err
	case own == provider, ByPassphrase(own) && ByPassphrase(provider), own == "" && salt == "":
		return nil
	}
	with := provider
	if ByPassphrase(provider) {
		with = "the passphrase of the platform"
	}
	name := providerSetting
	if own == "" {
		name = saltSetting
	}
	return invalid("%s: %s is not the platform's, which encrypts this stack with %s: remove the line", f.Path, name, with)
}
