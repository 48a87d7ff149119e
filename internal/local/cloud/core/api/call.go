package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// MaxBody is the maximum size of a request body in bytes.
const MaxBody = 4 << 20

// Principal is the caller of a method. Its member has the form that IAM policies use, for example
// "user:engineer@strata.local".
type Principal struct {
	Member string
	Email  string
}

// Call is one authenticated request to one route.
type Call struct {
	Request *http.Request
	Vars    map[string]string
	Who     Principal
	// Project is the project that the path names by ID or number, or nil if there is no such project.
	Project *Project
	// read caches the request body.
	read []byte
}

// ProjectID returns the ID of the call's project, whether or not the project exists.
func (c *Call) ProjectID() string {
	if c.Project != nil {
		return c.Project.ID
	}
	return c.Vars["project"]
}

// OnProject returns the project as the resource of a permission check.
func OnProject(c *Call) Resource {
	name := "projects/" + c.ProjectID()
	return Resource{Project: c.ProjectID(), Name: name, Path: name, Kind: "cloudresourcemanager.googleapis.com/Project"}
}

// Body returns the request body. It reads the body once and caches it.
func (c *Call) Body() ([]byte, error) {
	if c.read != nil {
		return c.read, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, c.Request.Body, MaxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, NewError(http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", "uploadTooLarge", "Request payload size exceeds the limit: %d bytes.", MaxBody)
	}
	if err != nil {
		return nil, InvalidArgument("The request body could not be read: %v", err)
	}
	c.read = data
	return data, nil
}

// Decode decodes the request body into a request type of the API. An empty body decodes to an empty request.
func (c *Call) Decode(into any) error {
	data, err := c.Body()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return InvalidArgument("Invalid JSON payload received. %s", PayloadFault(err))
	}
	if decoder.More() {
		return InvalidArgument("Invalid JSON payload received. Unexpected data after the value.")
	}
	return nil
}

// PayloadFault returns the message that Google's APIs give for a decoding error.
func PayloadFault(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "Unknown name " + name + ": Cannot find field."
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "Invalid value at '" + kind.Field + "' (" + kind.Type.String() + "), got " + kind.Value + "."
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
