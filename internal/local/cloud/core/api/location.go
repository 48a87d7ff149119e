package api

import "regexp"

var locations = regexp.MustCompile(`^([a-z]+-[a-z]+\d+)(-[a-z])?$`)

// ParseLocation returns the region of a location, and whether the location is a zone of that region. ok is false if
// the location is neither a zone nor a region.
func ParseLocation(location string) (region string, isZone, ok bool) {
	match := locations.FindStringSubmatch(location)
	if match == nil {
		return "", false, false
	}
	return match[1], match[2] != "", true
}

// ZonesOf returns the zones of a location. A region has three zones: a to c on Google Cloud, except in the oldest
// regions.
func ZonesOf(place string) []string {
	if _, isZone, ok := ParseLocation(place); !ok || isZone {
		return []string{place}
	}
	letters := "abc"
	if place == "europe-west1" || place == "us-east1" {
		letters = "bcd"
	}
	var zones []string
	for _, letter := range letters {
		zones = append(zones, place+"-"+string(letter))
	}
	return zones
}
