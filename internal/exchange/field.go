package exchange

import (
	"net/http"
	"regexp"

	"tokentape/internal/dialect"
)

// fieldForms are how servers name the field of a body that they refuse: the place
// of FastAPI and pydantic (vLLM puts it into a text, in Python's spelling),
// OpenAI's param and its older sentence, and what strict JSON readers of Go and
// Rust say. The answer may be cut, so it is not read as JSON.
var fieldForms = []*regexp.Regexp{
	regexp.MustCompile(`["']loc\\?["']\s*:\s*[\[(]\s*\\?["']body\\?["']\s*,\s*\\?["']([A-Za-z_][\w.-]{0,63})\\?["']`),
	regexp.MustCompile(`"param"\s*:\s*"([A-Za-z_][\w.-]{0,63})`),
	regexp.MustCompile(`(?i)unrecognized request arguments? supplied: ([A-Za-z_][\w-]{0,63})`),
	regexp.MustCompile("(?i)unknown field \\\\?[\"'`]([A-Za-z_][\\w.-]{0,63})"),
}

// refusedField is the field of the request's body that an answer with this status
// says it refuses; "": none is named.
func refusedField(status int, body []byte) string {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return ""
	}
	for _, form := range fieldForms {
		if m := form.FindSubmatch(body); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// givenBy says which setting puts a field into the body; "" where that is a row's
// own field or the API itself.
func (e *Exchanger) givenBy(field string) string {
	o := e.cfg.Options
	if _, ok := o.Sampling[field]; ok {
		return " (workload.sampling." + field + ")"
	}
	if d, ok := e.cfg.Dialect.(dialect.Bounding); ok && d.LengthField(o) == field {
		return " (the output length; target.max_tokens_field names another field for it)"
	}
	return ""
}
