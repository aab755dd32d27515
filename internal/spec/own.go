package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tokentape/internal/secret"
)

// Own are the secrets that are sought in settings, names and paths of the user's own:
// those of at least 8 bytes. A shorter one, such as EMPTY or sglang, is a word there,
// and a path without it leads nowhere; notes and what others wrote lose it too.
func Own(secrets []string) *secret.Set {
	return secret.New(slices.DeleteFunc(slices.Clone(secrets), func(v string) bool { return len(v) < minShown }))
}

// maskOwn takes the spec's own secrets, which are given, out of every text of m, a copy
// that may share with its source: a template, a path or a note can repeat the key.
// Only values that are one of a few (choices) stay.
func (m *Spec) maskOwn(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	all, own, known := secret.New(secrets), Own(secrets), choices()
	known["report.strict"] = CheckNames
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		set := own
		if strings.HasPrefix(path, "notes") {
			set = all
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if sf := v.Type().Field(i); sf.IsExported() {
					walk(v.Field(i), join(path, jsonName(sf)))
				}
			}
		case reflect.Slice:
			if v.IsNil() {
				return
			}
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				out.Index(i).Set(v.Index(i))
				walk(out.Index(i), path)
			}
			v.Set(out)
		case reflect.Map:
			if v.IsNil() {
				return
			}
			out := reflect.MakeMapWithSize(v.Type(), v.Len())
			keys := v.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				e := reflect.New(v.Type().Elem()).Elem()
				e.Set(v.MapIndex(k))
				walk(e, path)
				name := set.Mask(k.String())
				for n := 2; out.MapIndex(reflect.ValueOf(name)).IsValid(); n++ { // two names that differed in the secret
					name = fmt.Sprintf("%s %d", set.Mask(k.String()), n)
				}
				out.SetMapIndex(reflect.ValueOf(name), e)
			}
			v.Set(out)
		case reflect.Interface:
			if !v.IsNil() {
				e := reflect.New(v.Elem().Type()).Elem()
				e.Set(v.Elem())
				walk(e, path)
				v.Set(e)
			}
		case reflect.String:
			if !slices.Contains(known[path], v.String()) {
				v.SetString(set.Mask(v.String()))
			}
		}
	}
	walk(reflect.ValueOf(m).Elem(), "")
	for p, at := range m.from { // a copy already
		at.text = all.Mask(at.text)
		m.from[p] = at
	}
}
