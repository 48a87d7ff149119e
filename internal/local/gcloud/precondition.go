package gcloud

import (
	"net/http"
	"strconv"
)

// preconditions are what a call of Cloud Storage asks of the generation and the metageneration of what it is about.
type preconditions struct {
	generationMatch, generationNotMatch         *int64
	metagenerationMatch, metagenerationNotMatch *int64
}

// readPreconditions takes preconditions out of a query or a header: value returns what stands under a name, to which
// prefix is put and which style may respell.
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
			return found, invalidStorage("Invalid long value: '%s' for %s.", text, name)
		}
		*field = &number
	}
	return found, nil
}

// preconditions are those of the call's query. prefix is "if", or "ifSource" for those on the source of a copy.
func (c *call) preconditions(prefix string) (preconditions, error) {
	return readPreconditions(c.request.URL.Query().Get, prefix, func(name string) string { return name })
}

// met tells whether the preconditions hold. Both numbers are 0 for what does not exist.
func (p preconditions) met(generation, metageneration int64) bool {
	return (p.generationMatch == nil || *p.generationMatch == generation) &&
		(p.metagenerationMatch == nil || *p.metagenerationMatch == metageneration)
}

// unchanged tells whether the caller has said that he has this generation already.
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
		return storageError(http.StatusNotModified, "notModified", "Not Modified")
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
