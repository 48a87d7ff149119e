package gcloud

import "time"

// SetClock makes the server take the time from now.
func (s *Server) SetClock(now func() time.Time) { s.now = now }
