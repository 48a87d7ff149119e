// Package transcode serves gRPC calls of Google's clients as the REST calls that the APIs' descriptions declare for them.
package transcode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// maxMessage is the maximum size of a request in bytes.
const maxMessage = 4 << 20

// server serves the methods of its services by calls of a REST handler.
type server struct {
	rest    http.Handler
	methods map[string]method // by full gRPC name: /package.Service/Method
}

// method is a unary method and its REST call.
type method struct {
	host       string
	descriptor protoreflect.MethodDescriptor
	rule       *annotations.HttpRule
}

// New returns a handler of the gRPC requests to services. It authenticates and authorises nothing: the REST handler does.
func New(rest http.Handler, services ...protoreflect.ServiceDescriptor) http.Handler {
	s := &server{rest: rest, methods: map[string]method{}}
	for _, service := range services {
		host, _ := proto.GetExtension(service.Options(), annotations.E_DefaultHost).(string)
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
			if rule != nil && !m.IsStreamingClient() && !m.IsStreamingServer() {
				s.methods[fmt.Sprintf("/%s/%s", service.FullName(), m.Name())] = method{host, m, rule}
			}
		}
	}
	return grpc.NewServer(grpc.UnknownServiceHandler(s.handle), grpc.MaxRecvMsgSize(maxMessage))
}

// IsGRPC reports whether a request is a gRPC call.
func IsGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// handle handles one call.
func (s *server) handle(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	m, ok := s.methods[name]
	if !ok {
		return status.Errorf(codes.Unimplemented, "%s is not emulated by the emulated Google Cloud.", name)
	}
	request := dynamicpb.NewMessage(m.descriptor.Input())
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	call, err := m.request(stream.Context(), request)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	answer := &response{header: http.Header{}, code: http.StatusOK}
	s.rest.ServeHTTP(answer, call)
	if answer.code != http.StatusOK {
		return refusal(answer)
	}
	result := dynamicpb.NewMessage(m.descriptor.Output())
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(answer.body.Bytes(), result); err != nil {
		return status.Errorf(codes.Internal, "emulated Google Cloud: transcode the response of %s: %v", name, err)
	}
	return stream.SendMsg(result)
}

// request returns the REST request of a call.
func (m method) request(ctx context.Context, message *dynamicpb.Message) (*http.Request, error) {
	verb, template := pattern(m.rule)
	path, err := fillPath(template, message)
	if err != nil {
		return nil, err
	}
	var body []byte
	rest := protoreflect.Message(message)
	switch field := m.rule.GetBody(); field {
	case "":
	case "*":
		if body, err = protojson.Marshal(message); err != nil {
			return nil, err
		}
		rest = nil
	default:
		inner := message.Descriptor().Fields().ByName(protoreflect.Name(field))
		if body, err = protojson.Marshal(message.Get(inner).Message().Interface()); err != nil {
			return nil, err
		}
		message.Clear(inner)
	}
	address := url.URL{Path: path}
	if rest != nil {
		if address.RawQuery, err = query(message); err != nil {
			return nil, err
		}
	}
	call, err := http.NewRequestWithContext(ctx, verb, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	call.Host = m.host
	incoming, _ := metadata.FromIncomingContext(ctx)
	for _, header := range []string{"authorization", "x-goog-user-project", "x-goog-request-reason"} {
		for _, value := range incoming.Get(header) {
			call.Header.Add(header, value)
		}
	}
	return call, nil
}

// pattern returns the HTTP method and the template of the path of a rule.
func pattern(rule *annotations.HttpRule) (verb, template string) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	}
	return "", ""
}

// fillPath returns a path from its template, such as /v1/{parent=projects/*}/keyRings, and removes the fields of the path
// from the message.
func fillPath(template string, message protoreflect.Message) (string, error) {
	var path strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		path.WriteString(before)
		if !found {
			return path.String(), nil
		}
		variable, after, _ := strings.Cut(rest, "}")
		field, _, _ := strings.Cut(variable, "=")
		value, err := take(field, message)
		if err != nil {
			return "", err
		}
		path.WriteString(value)
		template = after
	}
}

// take returns a field of text, such as name or crypto_key.name, and removes it from the message.
func take(path string, message protoreflect.Message) (string, error) {
	first, rest, nested := strings.Cut(path, ".")
	field := message.Descriptor().Fields().ByName(protoreflect.Name(first))
	if nested {
		return take(rest, message.Mutable(field).Message())
	}
	value := message.Get(field).String()
	if value == "" || strings.ContainsAny(value, "?#%") || strings.Contains(value, "//") || strings.Contains(value, "..") {
		return "", fmt.Errorf("Invalid resource field value in the request: %s.", path) //nolint:revive // Google's words.
	}
	message.Clear(field)
	return value, nil
}

// query returns the fields of a message as the query of a URL.
func query(message *dynamicpb.Message) (string, error) {
	data, err := protojson.Marshal(message)
	if err != nil {
		return "", err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return "", err
	}
	values := url.Values{}
	for name, value := range fields {
		values.Set(name, fmt.Sprint(value))
	}
	return values.Encode(), nil
}

// response keeps the response of the REST handler.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *response) Header() http.Header            { return r.header }
func (r *response) WriteHeader(code int)           { r.code = code }
func (r *response) Write(data []byte) (int, error) { return r.body.Write(data) }

// refusal returns an error response as a gRPC status, with the reason of Google's ErrorInfo.
func refusal(answer *response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Status  string `json:"status"`
			Details []struct {
				Reason   string            `json:"reason"`
				Domain   string            `json:"domain"`
				Metadata map[string]string `json:"metadata"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer.body.Bytes(), &body); err != nil {
		return status.Errorf(codes.Internal, "emulated Google Cloud: response %d without JSON", answer.code)
	}
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(`"` + body.Error.Status + `"`)); err != nil {
		code = codes.Unknown
	}
	made := status.New(code, body.Error.Message)
	for _, detail := range body.Error.Details {
		info := &errdetails.ErrorInfo{Reason: detail.Reason, Domain: detail.Domain, Metadata: detail.Metadata}
		if with, err := made.WithDetails(info); err == nil {
			made = with
		}
	}
	return made.Err()
}
