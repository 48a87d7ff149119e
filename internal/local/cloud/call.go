package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxBody is the maximum size of a request body in bytes.
const maxBody = 4 << 20

// principal is the caller of a method. Its member has the form that IAM policies use, for example
// "user:engineer@strata.local".
type principal struct {
	member string
	email  string
}

// call is one authenticated request to one route.
type call struct {
	request *http.Request
	vars    map[string]string
	who     principal
	// project is the project that the path names by ID or number, or nil if there is no such project.
	project *project
	// read caches the request body.
	read []byte
}

// projectID returns the ID of the call's project, whether or not the project exists.
func (c *call) projectID() string {
	if c.project != nil {
		return c.project.ID
	}
	return c.vars["project"]
}

// onProject returns the project as the resource of a permission check.
func onProject(c *call) resource {
	name := "projects/" + c.projectID()
	return resource{project: c.projectID(), name: name, path: name, kind: "cloudresourcemanager.googleapis.com/Project"}
}

// body returns the request body. It reads the body once and caches it.
func (c *call) body() ([]byte, error) {
	if c.read != nil {
		return c.read, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, c.request.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, newError(http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", "uploadTooLarge", "Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	if err != nil {
		return nil, invalidArgument("The request body could not be read: %v", err)
	}
	c.read = data
	return data, nil
}

// decode decodes the request body into a request type of the API. An empty body decodes to an empty request.
func (c *call) decode(into any) error {
	data, err := c.body()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalidArgument("Invalid JSON payload received. %s", payloadFault(err))
	}
	if decoder.More() {
		return invalidArgument("Invalid JSON payload received. Unexpected data after the value.")
	}
	return nil
}

// payloadFault returns the message that Google's APIs give for a decoding error.
func payloadFault(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "Unknown name " + name + ": Cannot find field."
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "Invalid value at '" + kind.Field + "' (" + kind.Type.String() + "), got " + kind.Value + "."
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
