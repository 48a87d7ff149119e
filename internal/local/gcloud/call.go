package gcloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxBody is the largest request that is read.
const maxBody = 4 << 20

// call is one authenticated request to one route.
type call struct {
	ctx     context.Context
	request *http.Request
	vars    map[string]string
	who     principal
	// project is the project the path names, by its id or its number; nil where it names none that exists.
	project *project
	// read is the request's body, as far as it has been read.
	read []byte
}

// projectID is the id of the project that the call is about, whether it exists or not.
func (c *call) projectID() string {
	if c.project != nil {
		return c.project.ID
	}
	return c.vars["project"]
}

// onProject is the resource of the routes whose permission is needed on the project.
func onProject(c *call) resource {
	name := "projects/" + c.projectID()
	return resource{project: c.projectID(), name: name, path: name, kind: "cloudresourcemanager.googleapis.com/Project"}
}

// body returns the request's body, which is read once.
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

// decode reads the request's body into a request type of the API. An empty body is an empty request.
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

// payloadFault words a decoding error as the real APIs do.
func payloadFault(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "Unknown name " + name + ": Cannot find field."
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "Invalid value at '" + kind.Field + "' (" + kind.Type.String() + "), got " + kind.Value + "."
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
