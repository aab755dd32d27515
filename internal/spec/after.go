package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// afterFields are the settings that say how a tape is read and judged, and nothing
// of what was sent: the ones that may be given when it is over. What is below a
// section counts with it. The package analysis obeys each of them.
var afterFields = []string{"devices", "cost", "energy.watts", "report.slo", "report.strict", "limits.failed_share"}

// elsewhere names the flags of settings that have their own.
var elsewhere = map[string]string{"report.windows": "--window", "expect": "--expect", "energy.power_file": "--power"}

// Afterwards is what was given when a tape was read, checked.
type Afterwards struct {
	// Spec holds the sections that were touched, whole, as they lie over the spec of
	// the tape's header.
	Spec json.RawMessage
	// Given are the settings, PATH=VALUE, and what the tape has in their place.
	Given []string
}

// After puts sets over recorded, the spec of a tape's header (nil: a tape without
// one). The issues name settings that are not of the reading, values that are out
// of range, and those without effect beside the rest of that spec.
func After(recorded json.RawMessage, sets []Set) (*Afterwards, []Issue) {
	old, s := Default(), Default()
	if len(recorded) > 0 {
		if json.Unmarshal(recorded, old) != nil || json.Unmarshal(recorded, s) != nil {
			return nil, []Issue{{Message: "the spec in the tape's header cannot be read", Hint: "leave --set out"}}
		}
	}
	d := &decoder{spec: s, from: map[string]place{}, env: func(string) (string, bool) { return "", false }}
	out := &Afterwards{}
	for _, set := range sets {
		path := strings.TrimSpace(set.Path)
		if !slices.ContainsFunc(afterFields, func(f string) bool { return within(path, f) }) {
			d.add(place{origin: set.Origin}.issue(path, afterHint(path), "it was decided when the requests were sent, or has a flag of its own"))
			continue
		}
		if within(path, "devices") && !given(d, "devices") {
			s.Devices = Devices{}
		}
		d.set(set)
		out.Given = append(out.Given, path+"="+strings.TrimSpace(set.Value)+inPlaceOf(old, path))
	}
	if t := &s.Devices; t.Total == 0 {
		t.Total = t.Prefill + t.Decode
	}
	// One price and one power: what is given takes the place of the other kind.
	switch perHour, perDevice := given(d, "cost.per_hour"), given(d, "cost.per_device_hour"); {
	case perHour && !perDevice:
		s.Cost.PerDeviceHour = 0
	case perDevice && !perHour:
		s.Cost.PerHour = 0
	}
	if given(d, "energy.watts") {
		s.Energy.PowerFile = ""
	}
	issues := d.issues
	if len(issues) == 0 {
		for _, i := range s.Validate() {
			if slices.ContainsFunc(afterFields, func(f string) bool { return within(i.Field, f) && given(d, f) }) {
				if i.Origin == "" && i.Line == 0 {
					i.Origin = "--set " + i.Field
				}
				issues = append(issues, i)
			}
		}
	}
	over := map[string]any{}
	add := func(section, path string, value any) {
		if given(d, path) {
			over[section] = value
		}
	}
	add("devices", "devices", s.Devices)
	add("cost", "cost", s.Cost)
	add("energy", "energy", s.Energy)
	add("limits", "limits", map[string]any{"failed_share": s.Limits.FailedShare})
	add("report", "report", map[string]any{"slo": s.Report.SLO, "strict": s.Report.Strict})
	var err error
	if out.Spec, err = json.Marshal(over); err != nil { // only a value that Validate refuses
		issues = append(issues, Issue{Message: err.Error()})
	}
	return out, issues
}

// given reports whether path, or something below it, was decoded.
func given(d *decoder, path string) bool { return (&Spec{from: d.from}).wasSet(path) }

func afterHint(path string) string {
	for field, flag := range elsewhere {
		if within(path, field) {
			return "give it by " + flag
		}
	}
	return "what can be given afterwards: " + strings.Join(afterFields, ", ")
}

// inPlaceOf says what the tape has for path, "" where that is nothing.
func inPlaceOf(old *Spec, path string) string {
	v, ok := reach(reflect.ValueOf(old).Elem(), path)
	if !ok || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return ""
	}
	if d, ok := v.Interface().(Devices); ok && d.Prefill == 0 {
		v = reflect.ValueOf(d.Total)
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" in place of %s", b)
}
