// Package api describes the services of the emulated Google Cloud and their calls: it finds the route of a request,
// reads requests, and writes answers and errors in the form of Google's APIs.
package api
