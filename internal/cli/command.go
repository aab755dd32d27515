package cli

import (
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/secret"
)

// What a URL may hide: before the host, and under a name in the query.
var (
	urlUser  = regexp.MustCompile(`(\w+://)([^\s"'/@]+)@`)
	urlParam = regexp.MustCompile(`([?&;#])([^=&;?#\s"']+)=([^&;#\s"']+)`)
	words    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_.-]*`)
	variable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
)

// maskWords are the words of a command line fit to be kept. The spec is not known yet,
// so it goes by the names of flags and settings, and rather hides too much. hidden are
// the texts that it took out, to be masked wherever else they stand.
func maskWords(args []string) (shown, hidden []string) {
	hide := func(v string) string {
		if v == "" || variable.MatchString(v) {
			return v
		}
		hidden = append(hidden, v)
		return secret.Mask
	}
	text := func(s string) string {
		s = replaceGroup(urlUser, s, 2, func(g []string) string { return hide(g[2]) })
		return replaceGroup(urlParam, s, 3, func(g []string) string {
			if secret.Name(g[2]) {
				return hide(g[3])
			}
			return g[3]
		})
	}
	set := func(kv string) string {
		path, v, ok := strings.Cut(kv, "=")
		if !ok { // what is wrong in it may be a secret
			name := words.FindString(kv)
			if rest := strings.TrimPrefix(kv, name); rest != "" {
				return name + hide(rest)
			}
			return kv
		}
		names := strings.Split(path, ".")
		if strings.HasPrefix(path, "target.headers") || secret.Name(names[len(names)-1]) {
			return path + "=" + hide(v)
		}
		for _, w := range words.FindAllString(v, -1) {
			if strings.ContainsAny(v, ":{") && !strings.Contains(v, "://") && secret.Name(w) {
				return path + "=" + hide(v)
			}
		}
		return path + "=" + text(v)
	}
	value := func(flag, v string) string {
		switch flag {
		case "--api-key":
			return hide(v)
		case "--set", "--note":
			return set(v)
		case "--over":
			if fields, _, _ := strings.Cut(v, "="); slices.ContainsFunc(words.FindAllString(fields, -1), func(w string) bool {
				return strings.HasPrefix(w, "target.headers") || secret.Name(w[strings.LastIndexByte(w, '.')+1:])
			}) {
				return set(v)
			}
		}
		return text(v)
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		flag, v, inside := strings.Cut(arg, "=")
		switch {
		case inside && strings.HasPrefix(flag, "--"):
			shown = append(shown, flag+"="+value(flag, v))
		case slices.Contains([]string{"--api-key", "--set", "--note", "--over"}, arg) && i+1 < len(args):
			i++
			shown = append(shown, arg, value(arg, args[i]))
		default:
			shown = append(shown, text(arg))
		}
	}
	return shown, hidden
}

// replaceGroup changes group n of each match, given all groups of it.
func replaceGroup(re *regexp.Regexp, s string, n int, change func(groups []string) string) string {
	var b strings.Builder
	done := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		var groups []string
		for g := 0; g < len(m); g += 2 {
			groups = append(groups, s[m[g]:m[g+1]])
		}
		b.WriteString(s[done:m[2*n]] + change(groups))
		done = m[2*n+1]
	}
	return b.String() + s[done:]
}
