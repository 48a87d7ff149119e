// Package rest contains the formats of Cloud Storage that buckets and objects share: preconditions, etags and errors.
package rest

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// PreconditionFailed returns the error for a precondition that does not hold.
func PreconditionFailed() *api.Error {
	refusal := api.LegacyError(http.StatusPreconditionFailed, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
	refusal.Errors[0].LocationType, refusal.Errors[0].Location = "header", "If-Match"
	return refusal
}

// NoContent is the response to calls that delete.
var NoContent = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// Time formats a time as Cloud Storage does.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// NotEmulated returns the error for a request with a feature that is not emulated. what names the feature.
func NotEmulated(what string) *api.Error {
	return api.LegacyError(http.StatusNotImplemented, "notImplemented", "%s is not emulated.", what)
}

// Etag returns an etag in the form of Cloud Storage: a base64-encoded protobuf message whose fields are numbers.
func Etag(numbers ...int64) string {
	var message []byte
	for field, number := range numbers {
		message = binary.AppendUvarint(append(message, byte(field+1)<<3), uint64(number))
	}
	return base64.StdEncoding.EncodeToString(message)
}
