package doctor

import "github.com/strata-platform/strata/internal/status"

// AddSkew adds the skew of the versions of a platform. Parts that cannot work together count as missing.
func (r *Report) AddSkew(list []status.Skew) {
	for _, skew := range list {
		level := Warning
		if skew.Broken {
			level = Missing
		}
		r.Add(Finding{Check: "versions", Level: level, Found: skew.Part + ": " + skew.Found, Remedy: skew.Remedy})
	}
}
