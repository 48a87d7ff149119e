package cloud

import (
	"net/http"
	"strconv"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// preconditions are the conditions of a Cloud Storage call on the generation and the metageneration of its object or
// bucket.
type preconditions struct {
	generationMatch, generationNotMatch         *int64
	metagenerationMatch, metagenerationNotMatch *int64
}

// readPreconditions reads preconditions from a query or from headers. value returns the text under a name. The name is
// prefix and the precondition's name, in the spelling that style gives it.
func readPreconditions(value func(string) string, prefix string, style func(string) string) (preconditions, error) {
	var found preconditions
	for name, field := range map[string]**int64{
		"GenerationMatch": &found.generationMatch, "GenerationNotMatch": &found.generationNotMatch,
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

// queryPreconditions reads the preconditions of the call's query. prefix is "if", or "ifSource" for those on the source of
// a copy.
func queryPreconditions(c *api.Call, prefix string) (preconditions, error) {
	return readPreconditions(c.Request.URL.Query().Get, prefix, func(name string) string { return name })
}

// met reports whether the match preconditions hold. Both numbers are 0 for an object that does not exist.
func (p preconditions) met(generation, metageneration int64) bool {
	return (p.generationMatch == nil || *p.generationMatch == generation) &&
		(p.metagenerationMatch == nil || *p.metagenerationMatch == metageneration)
}

// unchanged reports whether a not-match precondition names this generation: the caller has it already.
func (p preconditions) unchanged(generation, metageneration int64) bool {
	return p.generationNotMatch != nil && *p.generationNotMatch == generation ||
		p.metagenerationNotMatch != nil && *p.metagenerationNotMatch == metageneration
}

// checkRead refuses a read whose preconditions do not hold.
func (p preconditions) checkRead(generation, metageneration int64) error {
	if !p.met(generation, metageneration) {
		return preconditionFailed()
	}
	if p.unchanged(generation, metageneration) {
		return api.LegacyError(http.StatusNotModified, "notModified", "Not Modified")
	}
	return nil
}

// checkChange refuses a change whose preconditions do not hold.
func (p preconditions) checkChange(generation, metageneration int64) error {
	if !p.met(generation, metageneration) || p.unchanged(generation, metageneration) {
		return preconditionFailed()
	}
	return nil
}
