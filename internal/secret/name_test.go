package secret

import "testing"

func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "X-Bearer": true, "X-Jwt": true, "X-Pwd": true, "X-Pass": true, "X-PAT": true, "X-Pin": true, "X-Sig": true, "X-Private": true,
		"X-Access": true, "X-Session-Id": true, "apiKey": true, "APIKey": true, "secret_key": true, "sessionID2": true, "Cookie": true, "access_token": true, "key_tokens": true,
		"max_tokens": false, "stop_token_ids": false, "eos_token_id": false, "tokenizer": false, "first_token": false, "spin": false, "passes": false, "path": false,
		"compass": false, "assign": false, "temperature": false, "keep_alive": false, "": false,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"Accept", "a", "a"}, {"USER-AGENT", "a", "a"}, {"X-Pin", "1234", "***"}, {"X-Team", "", ""}, {"X-Team", "***#0f", "***#0f"}, {"X-Team", "***", "***"},
	} {
		if got := Mark(c.name, c.value); got != c.want {
			t.Errorf("%s: %s is %s", c.name, c.value, got)
		}
	}
	if a, b := Mark("X-Team", "blue"), Mark("x-team", "green"); a == b || !Marked(a) || !Marked(b) || Marked("***#x") || Marked("blue") {
		t.Errorf("%s, %s", a, b)
	}
}
