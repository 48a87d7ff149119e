package cloud

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// preconditionFailed returns the error for a precondition that does not hold.
func preconditionFailed() *api.Error {
	refusal := api.LegacyError(http.StatusPreconditionFailed, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
	refusal.Errors[0].LocationType, refusal.Errors[0].Location = "header", "If-Match"
	return refusal
}

// noContent answers calls that delete.
var noContent = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// storageTime formats a time as Cloud Storage does.
func storageTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// notEmulatedStorage refuses a feature that the emulator lacks.
func notEmulatedStorage(what string) *api.Error {
	return api.LegacyError(http.StatusNotImplemented, "notImplemented", "%s is not emulated.", what)
}

// etagOf returns an etag in the form of Cloud Storage: a base64-encoded protobuf message whose fields are numbers.
func etagOf(numbers ...int64) string {
	var message []byte
	for field, number := range numbers {
		message = binary.AppendUvarint(append(message, byte(field+1)<<3), uint64(number))
	}
	return base64.StdEncoding.EncodeToString(message)
}
