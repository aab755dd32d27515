package tape

// Room is up to how many events/s the envelope is known to hold with so many streams at
// once: the most of its points that held with as many streams or more. ok is false when
// no such point has so many.
func (e *Envelope) Room(streams int64) (events float64, ok bool) {
	for _, p := range e.Points {
		if p.Held && p.Streams >= streams {
			events, ok = max(events, p.Events), true
		}
	}
	return events, ok
}

// Most is the greatest number of streams, and of events/s, of points that held; they
// need not be of the same one. 0: none held.
func (e *Envelope) Most() (streams int64, events float64) {
	for _, p := range e.Points {
		if p.Held {
			streams, events = max(streams, p.Streams), max(events, p.Events)
		}
	}
	return streams, events
}
