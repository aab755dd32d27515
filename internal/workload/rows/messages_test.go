package rows

import (
	"reflect"
	"testing"

	"tokentape/internal/workload"
)

func TestMessages(t *testing.T) {
	const image = `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"text","text":"b"},{"type":"input_audio","input_audio":{}}]}`
	const calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const tool = `{"role":"tool","tool_call_id":"1","content":"ok"}`
	s, _, err := open(t, `{"messages":[{"role":"system","content":"s"},`+image+`,`+calls+`, `+tool+`],"id":1,"user":"x","tools":"[{\"type\":\"function\"}]","tool_choice":"auto","temperature":0.5,"model":"gpt"}`, "{question}", "")
	if err != nil {
		t.Fatal(err)
	}
	item, err := s.Item(0)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Message{
		{Role: "system", Content: "s"}, {Role: "user", Content: "a\nb", Raw: []byte(image)}, {Role: "assistant", Raw: []byte(calls)}, {Role: "tool", Content: "ok", Raw: []byte(tool)},
	}
	if !reflect.DeepEqual(item.Messages, want) {
		t.Errorf("got  %+v\nwant %+v", item.Messages, want)
	}
	extra := map[string]string{}
	for name, v := range item.Extra {
		extra[name] = string(v)
	}
	if want := map[string]string{"tools": `[{"type":"function"}]`, "tool_choice": `"auto"`, "temperature": "0.5"}; !reflect.DeepEqual(extra, want) {
		t.Errorf("extra %v", extra)
	}
	says(t, s, "temperature (1), tool_choice (1), tools (1)")
}

func TestMessagesRefuse(t *testing.T) {
	part := func(p string) string { return `{"messages":[{"role":"user","content":[` + p + `]}]}` }
	for _, tt := range []struct{ row, want string }{
		{part(``), "messages[0].content is not a list of parts"},
		{part(`"a"`), "messages[0].content is not a list of parts"},
		{part(`{"text":"a"}`), "messages[0].content[0] has no type"},
		{part(`{"type":"image_url","image_url":{}}`), "messages[0].content[0].image_url.url is empty"},
		{part(`{"type":"image_url","image_url":{"url":"cat.png"}}`), "image_url.url is neither a URL nor data: cat.png; give http(s)://…"},
		{part(`{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,a"}}`), "messages[0].content[1].image_url.url is not base64"},
		{part(`{"type":"image_url","image_url":{"url":"data:image/png,abc"}}`), "is not base64"},
		{part(`{"type":"image_url","image_url":{"url":"data:image/png;base64"}}`), "holds no data"},
		{`{"messages":[{"role":"user","content":7}]}`, "messages[0].content is neither a string nor a list"},
		{`{"messages":[{"role":"assistant","content":null}]}`, "messages[0].content is neither"},
	} {
		if _, path, err := open(t, tt.row, "{question}", ""); err == nil {
			t.Errorf("accepted %s", tt.row)
		} else {
			contains(t, err, path+":1:1: ", tt.want)
		}
	}
}

func TestTokenIDsRefuse(t *testing.T) {
	for _, tt := range []struct{ row, want string }{
		{`{"prompt":[1,-2]}`, "prompt holds -2"}, {`{"prompt":[1,2.5]}`, "prompt holds 2.5"}, {`{"prompt":["a"]}`, `prompt holds "a"`},
		{`{"prompt":[[1]]}`, "prompt holds [1]"}, {`{"prompt":[2147483648]}`, "prompt holds 2147483648"}, {`{"prompt":[]}`, "the prompt is empty"},
		{`{"prompt":[1 2]}`, "not JSON"},
	} {
		w := write(t, "a.jsonl", tt.row)
		w.Dataset.Format = "tokens"
		if _, err := source(t, w); err == nil {
			t.Errorf("accepted %s", tt.row)
		} else {
			contains(t, err, tt.want)
		}
	}
	w := write(t, "a.jsonl", `{"prompt":"text"}`)
	w.Dataset.Format = "tokens"
	refuses(t, w, "a.jsonl:1:1: the row has no list of token ids")
	w = write(t, "a.jsonl", `{"prompt":[1]}`)
	w.System = "s"
	refuses(t, w, "no place for workload.system")
}

// Fields by another name, also within objects; a name that no row has is an error.
func TestColumns(t *testing.T) {
	w := write(t, "a.jsonl", `{"meta":{"text":"x"},"n":3}`+"\n"+`{ "meta":{"text":"y"}}`+"\n"+`{"question":"own"}`)
	w.Dataset.Columns = map[string]string{"question": "meta.text", "max_tokens": "n"}
	s := mustOpen(t, w)
	if got := prompts(t, s); !reflect.DeepEqual(got, []string{"x", "y", "own"}) {
		t.Errorf("%q", got)
	}
	if item, _ := s.Item(0); item.OutputLen != 3 {
		t.Errorf("%+v", item)
	}
	w.Dataset.Columns["max_tokens"] = "m"
	refuses(t, w, `workload.dataset.columns: no row has a field "m"`)
	w = write(t, "a.jsonl", "{}\n")
	w.Template = "x"
	w.Dataset.Extra = []string{"top_p"}
	refuses(t, w, `workload.dataset.extra: no row has a field "top_p"`)
}

func TestBodyTemplate(t *testing.T) {
	w := write(t, "a.jsonl", `{"q":"say \"hi\"","n":3,"list":[1],"none":null}`)
	for _, tt := range []struct {
		body map[string]any
		want string
	}{
		{map[string]any{"b": "{q}!", "a": "{n}", "c": []any{"{list}", int64(7), nil, true, ""}, "d": map[string]any{}, "e": "{{q}}"}, `{"a":3,"b":"say \"hi\"!","c":[[1],7,null,true,""],"d":{},"e":"{q}"}`},
	} {
		w.Body = tt.body
		item, err := mustOpen(t, w).Item(0)
		if err != nil || string(item.Body) != tt.want {
			t.Errorf("%s, %v", item.Body, err)
		}
	}
	w.Body = map[string]any{"a": "{nn}"}
	refuses(t, w, "a.jsonl:1:1: the row has no field {nn} that the template asks for; its fields are: list, n, none, q")
	w.Body = map[string]any{"a": "{none}"}
	refuses(t, w, "is null")
	w.Body = map[string]any{"a": "{"}
	refuses(t, w, "not closed")
	w.Body, w.Dataset.Format = nil, "bodies"
	if item, _ := mustOpen(t, w).Item(0); string(item.Body) != `{"q":"say \"hi\"","n":3,"list":[1],"none":null}` {
		t.Errorf("%s", item.Body)
	}
	w = write(t, "a.jsonl", `{"stream":"true"}`)
	w.Dataset.Format = "bodies"
	refuses(t, w, `stream is "true"; true or false, without quotes`)
}
