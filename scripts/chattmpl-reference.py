#!/usr/bin/env python3
"""Writes internal/workload/chattmpl/testdata/reference.json: what Jinja2, set up
as the transformers library sets it up, makes of small templates, and of the
templates of the models in TOKENTAPE_TOKENIZERS (scripts/tokenizers.sh).

    eval "$(scripts/tokenizers.sh)"; python3 scripts/chattmpl-reference.py

Needs the Python package jinja2 (Debian: python3-jinja2)."""

import datetime
import json
import os
import pathlib
import random

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 3, 7, 9, 5, 4)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda f: NOW.strftime(f)

user = {"role": "user", "content": "Hi, wie geht's?  "}
chats = {
    "one": [user],
    "system": [{"role": "system", "content": "Be brief.\n"}, user],
    "turns": [{"role": "system", "content": "S"}, user, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nGut."}, {"role": "user", "content": "Ünï中文 <b>&"}],
    "parts": [{"role": "user", "content": [{"type": "text", "text": " a "}, {"type": "image"}, {"type": "text", "text": "b"}]}],
    "calls": [user, {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]}, {"role": "tool", "content": "42"}],
    "empty": [user, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1.0, "y": [1e-7, "\u2028\x7f\\\"\t"]}}}]}, {"role": "tool", "content": "42"}],
    "disorder": [user, user],
}
tools = [{"type": "function", "function": {"name": "f", "description": "d <é>", "parameters": {"type": "object", "properties": {"zeta": {"type": "number", "minimum": 0.5}, "alpha": {"type": "string", "default": None}}, "required": ["zeta"]}}}]

small = {
    "chatml": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}\n",
    "blocks": "{{ bos_token }}\n{% for m in messages %}\n    {% if m.role == 'user' %}\n  U: {{ m.content }}\n    {% elif m.content is string %}\n  {{ m.role | upper }}: {{ m.content | trim }}\n    {% endif %}\n{% endfor %}\n{% if add_generation_prompt %}\nA:\n{% endif %}\n\n",
    "alternate": "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate: ' + m['role']) }}{% endif %}{{ m['content'] }}{{ eos_token }}{% endfor %}",
    "date": "Today: {{ strftime_now('%d %b %Y, %A %H:%M') }}{{ messages[0].content }}",
    "tools": "{% if tools %}{{ tools | tojson }}\n{{ tools[0] | tojson(indent=2) }}{% endif %}{% for m in messages %}{{ m | tojson }}{% endfor %}",
    "namespace": "{% set ns = namespace(n=0, last='') %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.n = ns.n + 1 %}{% set ns.last = m.role %}{% else %}{% continue %}{% endif %}{{ loop.index }}{% endfor %}{{ ns.n }}{{ ns.last }}{{ messages | length }}{{ messages[-1].role }}{{ messages[1:] | map(attribute='role') | join(',') }}",
    "undefined": "[{{ nothing }}{{ messages[0].nothing }}{{ 'x' if enable_thinking is defined and enable_thinking is false else 'y' }}{{ pad_token is defined }}]",
    "macro": "{% macro show(m, sep=': ') %}{{ m.role }}{{ sep }}{{ m.content }}{% endmacro %}{% for m in messages %}{{ show(m) }}{% if not loop.last %}|{% endif %}{% endfor %}{{ messages[0].content.split(' ')[0].strip(',') }}{{ messages[0]['content'][:2] }}",
    "trims": "  {% if true %}  \n  a  {%- if true -%}  b  {% endif +%}\n  {{- ' c ' -}}  \n\n {#- no -#} d\n {# c #}\n  {% if true %}{{ 'x' }}\n{{ 'y' }}\n{% endif %}\n{% raw %}\n {{ raw }} {% endraw %}\n z\n{%+ if true %}  {% endif %}\n{% endif %}\n  \n",
    "strings": "{{ 'a\\tb\\u00e9\\x41\\'\\\\' }}{{ \"}}%}#}\" }}{% set x = 'tojson {{' %}{{ x }}{{ {'a': {'b': 1}}['a']['b'] }}\\n\"q\"",
    "numbers": "{{ 1.0 }} {{ 0.5 }} {{ 3 }} {{ none }} {{ true }} {{ 1.5 | string }} {{ messages | length / 2 }} {{ [1, 'a', none] | tojson }} {{ {'b': 1, 'a': 'é<'} | tojson(indent=4, ensure_ascii=true) }} {{ [] | tojson(indent=2) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}",
    "crlf": "{% for m in messages %}\r\n{{ m.role }}\r\n{% endfor %}\r\n",
}
tokens = {"bos_token": "<s>", "eos_token": "</s>"}


def render(source, names, chat, generation, extra):
    try:
        return {"want": env.from_string(source).render(messages=chats[chat], add_generation_prompt=generation, **({"tools": None, "documents": None} | extra), **names)}
    except jinja2.exceptions.TemplateError as e:
        return {"raises": str(e)}
    except TypeError:
        return {"raises": ""}


out = []
for name, source in small.items():
    for chat in chats:
        for generation, extra in ((True, {}), (False, {"tools": tools, "enable_thinking": False})):
            out.append({"name": name, "template": source, "chat": chat, "generation": generation, "extra": extra} | render(source, tokens, chat, generation, extra))

# Random blanks around random tags: where the lexer decides.
rnd = random.Random(1)
parts = ["{% if true %}", "{%- if true %}", "{% if true -%}", "{%+ if true %}", "{% if true +%}", "{{ 'x' }}", "{{- 'x' }}", "{{ 'x' -}}", "{# c #}", "{#- c -#}", "{% raw %} {{ r }}\n{% endraw %}", "{%- raw -%}\n r \n{%- endraw -%}", "{% set q = 1 %}", " ", "  ", "\n", "\n\n", "\t", "a", "b\n", "\r\n", "}", "{"]
for i in range(300):
    pieces = [rnd.choice(parts) for _ in range(rnd.randint(1, 12))]
    source = "".join(pieces) + "".join(rnd.choice(["{% endif %}", "{%- endif -%}", "\n  {% endif %}\n"]) for p in pieces if " if " in p)
    out.append({"name": f"blanks-{i}", "template": source, "chat": "one", "generation": True, "extra": {}} | render(source, tokens, "one", True, {}))

special = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
for config in sorted(pathlib.Path(os.environ["TOKENTAPE_TOKENIZERS"]).glob("*/tokenizer_config.json")):
    c = json.loads(config.read_text())
    if not c.get("chat_template"):
        continue
    names = {k: v["content"] if isinstance(v, dict) else v for k, v in c.items() if k in special and v}
    for chat in chats:
        for generation, extra in ((True, {}), (False, {"tools": tools}), (True, {"enable_thinking": False})):
            out.append({"name": config.parent.name, "chat": chat, "generation": generation, "extra": extra} | render(c["chat_template"], names, chat, generation, extra))

path = pathlib.Path(__file__).parent.parent / "internal/workload/chattmpl/testdata/reference.json"
path.write_text(json.dumps({"now": NOW.isoformat() + "Z", "tokens": tokens, "chats": chats, "cases": out}, ensure_ascii=False, indent=1) + "\n")
print(len(out), "renderings")
