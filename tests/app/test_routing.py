"""Where text goes: the order of engines, and what never leaves the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clover_engine.api import (
    CanvasRequest,
    Context,
    Draft,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    Hole,
    Snippet,
    infill_request,
)
from clover_engine.errors import (
    Cancelled,
    CloverError,
    EngineUnavailable,
    ModelError,
    RequestError,
    Unsupported,
)
from clover_templates.on_behalf import OnBehalf
from clover_write.app import connect
from clover_write.cli import main
from clover_write.config import ConfigError, config_path, load_config
from clover_write.profiles import Profile, ProfileError, order
from clover_write.routing import Route, Router, Rules, StaysHere

KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nabc"


class Engine:
    """Notes what reaches it, and answers with its name or raises."""

    def __init__(self, name: str, error: CloverError | None = None) -> None:
        self.name = name
        self.error = error
        self.asked: list[CanvasRequest] = []

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        self.asked.append(request)
        if self.error:
            raise self.error
        return Filled((Fill(self.name, 1.0, Finish.STOP),))

    async def info(self) -> EngineInfo:
        if self.error:
            raise self.error
        return EngineInfo(self.name)

    async def close(self) -> None:
        self.asked.clear()


def router(*engines: Engine, rules: Rules | None = None) -> Router:
    routes = [
        Route(
            each.name,
            "" if each.name == "local" else f"{each.name} (host)",
            each.name == "local",
            each,
        )
        for each in engines
    ]
    return Router(routes, rules or Rules(paths=("private/", "*.secret.md")))


def about(document: str, text: str = "plain", **options: Any) -> CanvasRequest:
    return infill_request(text, "", document=document, **options)


async def test_the_first_engine_that_answers_does_and_is_named() -> None:
    office, local = Engine("office"), Engine("local")
    filled = await router(office, local).fill(about("file:///home/a/note.md"))
    assert (filled.fills[0].text, filled.where) == ("office", "office (host)")
    office.error = EngineUnavailable("gone")
    both = router(office, local)
    filled = await both.fill(about("file:///home/a/note.md"))
    assert (filled.fills[0].text, filled.where) == ("local", "")
    # it rests: the next keystroke does not wait for it again
    await both.fill(about("file:///home/a/note.md"))
    assert len(office.asked) == 2
    assert (await both.info()).model == "local"


async def test_what_one_cannot_do_another_is_asked_at_once_and_it_does_not_rest() -> None:
    office, local = Engine("office", Unsupported("no choices")), Engine("local")
    both = router(office, local)
    for _ in range(2):
        assert (await both.fill(about("file:///a.md"))).fills[0].text == "local"
    assert len(office.asked) == 2


@pytest.mark.parametrize("error", [RequestError("bad"), Cancelled("newer")])
async def test_what_is_wrong_with_a_request_is_told_by_the_first(error: CloverError) -> None:
    office, local = Engine("office", error), Engine("local")
    with pytest.raises(type(error)):
        await router(office, local).fill(about("file:///a.md"))
    assert not local.asked


async def test_the_last_ones_error_is_told() -> None:
    office = Engine("office", EngineUnavailable("gone"))
    with pytest.raises(ModelError, match="pull it"):
        await router(office, Engine("local", ModelError("pull it"))).fill(about("file:///a.md"))


@pytest.mark.parametrize(
    "request_",
    [
        about("file:///home/a/private/note.md"),
        about("file:///home/a/plan.secret.md"),
        about("file:///home/a/.env"),
        about("untitled:private/x"),
        about(""),
        about("clover:prose"),
        about("file:///a.md", "# 报告\n\n机密★3年\n\n正文"),
        about("file:///a.md", KEY),
        CanvasRequest(about("").segments, origin="file:///home/a/private/note.md"),
        CanvasRequest(about("").segments, document="file:///a.md", private=True),
        CanvasRequest((Hole(8, choices=("正文", "机密")),), document="file:///a.md"),
    ],
    ids=str,
)
async def test_what_may_not_leave_reaches_no_other_machine(request_: CanvasRequest) -> None:
    office, local = Engine("office"), Engine("local")
    filled = await router(office, local).fill(request_)
    assert (filled.fills[0].text, filled.where) == ("local", "")
    with pytest.raises(StaysHere, match="fallback"):
        await router(office).fill(request_)
    assert not office.asked


async def test_a_file_under_an_ignored_folder_stays(tmp_path: Path) -> None:
    (tmp_path / ".cloverignore").write_text("drafts/\n")
    (tmp_path / "drafts").mkdir()
    office, local = Engine("office"), Engine("local")
    await router(office, local).fill(about((tmp_path / "drafts" / "a.md").as_uri()))
    assert local.asked
    assert not office.asked


async def test_snippets_that_may_not_leave_are_left_out() -> None:
    snippets = (
        Snippet("src/ok.py", "x = 1"),
        Snippet("private/no.py", "y = 1"),
        Snippet("keys/id_rsa", "z"),
        Snippet("notes/report.md", "密级：机密\n"),
    )
    request = CanvasRequest(
        about("").segments, document="file:///a.py", context=Context(snippets, "project")
    )
    office, local = Engine("office"), Engine("local")
    await router(office, local).fill(request)
    [asked] = office.asked
    assert asked.context == Context(snippets[:1], "project")
    await router(local).fill(request)
    assert local.asked[0].context == request.context


def test_order_follows_fallbacks_once_each() -> None:
    profiles = {
        "office": Profile("office", "wss://gpu.example/", fallback=("cluster", "local")),
        "cluster": Profile(
            "cluster", "https://llm.example", kind="sglang", fallback=("office", "local")
        ),
    }
    assert order("office", profiles) == ["office", "cluster", "local"]
    assert order("local", profiles) == ["local"]
    with pytest.raises(ProfileError, match="no profile 'home'"):
        order("home", profiles)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kind": "telnet"}, "kind is one of"),
        ({"url": "https://gpu.example"}, "begins with ws:// or wss://"),
        ({"url": "ws://gpu.example/"}, "in the clear"),
        ({"kind": "openai", "url": "http://gpu.example"}, "in the clear"),
        ({"url": "wss://ann:pw@gpu.example/"}, "holds no password"),
        ({"token": "abcdef"}, "env:NAME"),
    ],
)
def test_profiles_that_would_leak_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ProfileError, match=says):
        Profile(**{"name": "office", "url": "wss://gpu.example/", **settings})


def test_tokens_come_from_the_environment_and_hold_no_line_ends() -> None:
    profile = Profile("office", "wss://gpu.example/", token="env:OFFICE")
    assert profile.secret({"OFFICE": "abc"}) == "abc"
    for bad in ({}, {"OFFICE": ""}, {"OFFICE": "abc\r\nX-Admin: 1"}, {"OFFICE": "ü"}):
        with pytest.raises(ProfileError, match="no token in env:OFFICE"):
            profile.secret(bad)
    assert "abc" not in repr(profile)


def test_tokens_come_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    known = {("clover", "ann"): "from-the-ring"}
    monkeypatch.setattr(keyring, "get_password", lambda *place: known.get(place))
    profile = Profile("office", "wss://gpu.example/", token="keyring:clover/ann")
    assert profile.secret({}) == "from-the-ring"
    other = Profile("office", "wss://gpu.example/", token="keyring:clover/bob")
    with pytest.raises(ProfileError, match="no token"):
        other.secret({})


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_config_path", lambda app: tmp_path / app)

    def write(text: str) -> None:
        path = config_path()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return write


OFFICE = """
profile = "office"
never_send = ["private/"]

[profiles.office]
kind = "llama.cpp"
url = "http://127.0.0.1:9"
fallback = ["local"]
"""


async def test_the_configuration_makes_the_router(config: Callable[[str], None]) -> None:
    config(OFFICE)
    settings = load_config({"CLOVER_WRITE_ENGINE": "fake"})
    client = connect(settings)
    assert isinstance(client, Router)
    # nobody is at that port: the local engine answers
    filled = await asyncio.wait_for(client.fill(about("file:///a.py", "total = 1\nto")), 20)
    assert filled.fills[0].text == "tal = 1"
    await client.close()
    # who names an engine wants that one
    assert settings.with_engine("fake").profile == "local"
    assert settings.with_engine(None) is settings


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('profile = "home"', "no profile 'home'"),
        ('[profiles.local]\nurl = "wss://x/"', "rename"),
        ("[profiles.office]\nkind = 'engine'", "url is missing"),
        ('[profiles.office]\nurl = "wss://x/"\ntokens = "x"', "unknown setting tokens"),
        ('[profiles.office]\nurl = "wss://x/"\nfallback = "local"', "list of names"),
        ("[profiles.office]\nurl = 5", "is a string"),
        ("profiles = 5", "tables are wanted"),
    ],
)
def test_a_bad_configuration_is_told_by_name(
    config: Callable[[str], None], text: str, says: str
) -> None:
    config(text)
    with pytest.raises((ConfigError, ProfileError), match=says):
        load_config({})


def test_doctor_says_where_text_goes(
    config: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    config(OFFICE)
    main(["doctor", "--fast"])
    printed = capsys.readouterr().out
    assert "office (llama.cpp at 127.0.0.1:9), then local (coder-0.5b, this machine)" in printed
    assert main(["doctor", "--remote", "office"]) == 1
    assert "127.0.0.1:9 cannot be reached" in capsys.readouterr().out


async def test_work_on_a_document_names_it_and_its_marks() -> None:
    engine = Engine("local")
    text = CanvasRequest(about("").segments, document="clover:prose")
    await OnBehalf(engine, "file:///a.md").fill(text)
    await OnBehalf(engine, "file:///a.md", private=True).fill(text)
    assert [(each.origin, each.private) for each in engine.asked] == [
        ("file:///a.md", False),
        ("file:///a.md", True),
    ]


def test_restructuring_a_marked_file_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine("fake", EngineUnavailable("noted"))
    monkeypatch.setattr("clover_write.app.connect", lambda _: engine)
    monkeypatch.setattr(engine, "close", Engine("nothing").close)
    file = tmp_path / "周报.md"
    file.write_text("机密★1年\n\n# 周报\n\n做完了导入。\n\n下周做导出。\n", encoding="utf-8")
    assert main(["restructure", str(file), "--template", "周报"]) == 1
    assert engine.asked
    assert {(each.origin, each.private) for each in engine.asked} == {(file.as_uri(), True)}
