package rest

import (
	"net/http"
	"strconv"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Preconditions are the conditions of a Cloud Storage call on the generation and the metageneration of its object or
// bucket.
type Preconditions struct {
	GenerationMatch, generationNotMatch         *int64
	metagenerationMatch, metagenerationNotMatch *int64
}

// ReadPreconditions reads preconditions from a query or from headers. value returns the text of a parameter or header.
// Its name is prefix followed by the name of the precondition, in the spelling that style returns.
func ReadPreconditions(value func(string) string, prefix string, style func(string) string) (Preconditions, error) {
	var found Preconditions
	for name, field := range map[string]**int64{
		"GenerationMatch": &found.GenerationMatch, "GenerationNotMatch": &found.generationNotMatch,
		"MetagenerationMatch": &found.metagenerationMatch, "MetagenerationNotMatch": &found.metagenerationNotMatch,
	} {
		name = style(prefix + name)
		text := value(name)
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return found, api.LegacyInvalid("Invalid long value: '%s' for %s.", text, name)
		}
		*field = &number
	}
	return found, nil
}

// QueryPreconditions reads the preconditions of the call's query. prefix is "if", or "ifSource" for those on the source
// of a copy.
func QueryPreconditions(c *api.Call, prefix string) (Preconditions, error) {
	return ReadPreconditions(c.Request.URL.Query().Get, prefix, func(name string) string { return name })
}

// met reports whether the match preconditions are true. Both numbers are 0 for a missing object.
func (p Preconditions) met(generation, metageneration int64) bool {
	return (p.GenerationMatch == nil || *p.GenerationMatch == generation) &&
		(p.metagenerationMatch == nil || *p.metagenerationMatch == metageneration)
}

// unchanged reports whether a not-match precondition names this generation, which the caller then already has.
func (p Preconditions) unchanged(generation, metageneration int64) bool {
	return p.generationNotMatch != nil && *p.generationNotMatch == generation ||
		p.metagenerationNotMatch != nil && *p.metagenerationNotMatch == metageneration
}

// CheckRead returns an error for a read if a precondition is false.
func (p Preconditions) CheckRead(generation, metageneration int64) error {
	if !p.met(generation, metageneration) {
		return PreconditionFailed()
	}
	if p.unchanged(generation, metageneration) {
		return api.LegacyError(http.StatusNotModified, "notModified", "Not Modified")
	}
	return nil
}

// CheckChange returns an error for a change if a precondition is false.
func (p Preconditions) CheckChange(generation, metageneration int64) error {
	if !p.met(generation, metageneration) || p.unchanged(generation, metageneration) {
		return PreconditionFailed()
	}
	return nil
}
