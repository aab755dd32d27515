package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	dict "tokentape/internal/report/words"
)

// langAuto takes the language from the environment. Nothing does so by itself: a
// report that is kept or compared reads the same whoever makes it.
const langAuto = "auto"

var langHelp = "language of the report: " + strings.Join(dict.Languages(), ", ") + ", or " + langAuto + " (by LC_ALL, LC_MESSAGES or LANG); errors, files for programs and tables of sweeps are English"

// language is what --lang asks for, one of words.Languages.
func language(lang string) (string, error) {
	switch {
	case lang == "":
		return dict.Languages()[0], nil
	case lang == langAuto:
		env := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
		i := slices.IndexFunc(dict.Languages(), func(l string) bool { return strings.HasPrefix(env, l) })
		return dict.Languages()[max(0, i)], nil
	case !slices.Contains(dict.Languages(), lang):
		return "", usageError(fmt.Sprintf("--lang %s: unknown", lang), strings.Join(dict.Languages(), ", ")+" or "+langAuto)
	}
	return lang, nil
}

// reportLanguage is language for a format of a view, or a chart.
func reportLanguage(lang, format, chart string) (string, error) {
	if lang != "" && chart == "" && !slices.Contains([]string{"console", "markdown", formatHTML}, format) {
		return "", usageError("--lang: "+format+" is for programs, and the same in every language", "another --format, or leave --lang out")
	}
	return language(lang)
}
