"""A setting is declared once, later wins, and a wrong value is told where it stands and what it should be."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.model.scan_settings import ScanSettings
from r2d2.settings import CONFIG_FILE, Declaration, Settings, declarations, load_settings, weakened_by_environment

DECLARED = {declaration.name: declaration for declaration in declarations()}


def load(folder: Path, toml: str = "", environment: dict[str, str] | None = None, **given: Any) -> Settings:
    (folder / "r2d2.toml").write_text(toml, "utf-8")
    return load_settings(given, config=folder / "r2d2.toml", environment=environment or {})


def refused(folder: Path, toml: str = "", environment: dict[str, str] | None = None, **given: Any) -> str:
    with pytest.raises(UserError) as caught:
        load(folder, toml, environment, **given)
    assert caught.value.exit_code == 2 and caught.value.hint
    return str(caught.value)


# ---- later wins ------------------------------------------------------------------------------------------------------


def another(declaration: Declaration, number: int) -> Any:
    """A good value that is not the default; each number gives another where there are several."""
    if declaration.type is bool:
        return not declaration.default if number % 2 == 0 else declaration.default
    if declaration.repeats:
        return (f"one{number}", f"two*{number}")
    if declaration.name == "partition_types":
        return ("string", "infer")[number % 2]
    if declaration.type is int:
        return number + 30  # the defaults are smaller, or much larger
    if declaration.type is float:
        return 0.375 + number / 8
    if declaration.name == "driver_memory":
        return f"{number + 1}g"
    return {"master": "spark://", "remote": "sc://"}.get(declaration.name, "") + f"text{number}"


def in_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f"'{item}'" for item in value) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def in_environment(value: Any) -> str:
    return os.pathsep.join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("name", [name for name, declared in DECLARED.items() if not declared.adds_up])
def test_toml_beats_the_default_the_environment_toml_and_the_option_both(name: str, tmp_path: Path) -> None:
    declaration = DECLARED[name]
    default, first, second, third = (declaration.default, *(another(declaration, n) for n in range(3)))
    toml, environment = f"{name} = {in_toml(first)}\n", {declaration.variable: in_environment(second)}
    assert getattr(load(tmp_path), name) == default
    assert getattr(load(tmp_path, toml), name) == first != default
    assert getattr(load(tmp_path, toml, environment), name) == second
    assert getattr(load(tmp_path, toml, environment, **{name: third}), name) == third
    assert getattr(load(tmp_path, toml, environment, **{name: None}), name) == second  # an option that was not given


def test_a_value_that_counts_as_false_still_wins(tmp_path: Path) -> None:
    toml = "ignore_case = true\ninclude = ['a']\ndriver_memory = '2g'\n"
    environment = {"R2D2_IGNORE_CASE": "", "R2D2_INCLUDE": "", "R2D2_DRIVER_MEMORY": ""}
    found = load(tmp_path, toml, environment)
    assert (found.ignore_case, found.include, found.driver_memory) == (False, (), "")
    assert load(tmp_path, toml, ignore_case=False).ignore_case is False


def test_a_setting_of_somebody_else_in_the_environment_is_let_be(tmp_path: Path) -> None:
    assert load(tmp_path, environment={"R2D2_SOMETHING": "1", "STATE": "x"}) == Settings()


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    assert load_settings(folder=tmp_path, environment={}) == Settings()


def test_the_file_in_the_current_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r2d2.toml").write_text("state = 'elsewhere'")
    monkeypatch.chdir(tmp_path)
    assert load_settings(environment={}).state == "elsewhere"


# ---- the settings that shape a scan ----------------------------------------------------------------------------------


def test_a_scan_has_its_own_settings_declared_as_all_others_and_with_the_same_default() -> None:
    for shaping in fields(ScanSettings):
        declaration = DECLARED[shaping.name]
        assert (declaration.default, declaration.type) == (shaping.default, get_type_hints(ScanSettings)[shaping.name])
    assert Settings().scan == ScanSettings()


@pytest.mark.parametrize("name", [field.name for field in fields(ScanSettings)])
def test_what_is_set_reaches_the_scan(name: str) -> None:
    value = another(DECLARED[name], 0)
    assert getattr(load_settings({name: value}, environment={}).scan, name) == value


# ---- values in each place --------------------------------------------------------------------------------------------


def test_a_single_text_will_do_for_a_list(tmp_path: Path) -> None:
    assert load(tmp_path, "include = 'sales/*'").include == ("sales/*",)
    assert load(tmp_path, environment={"R2D2_INCLUDE": "a*"}).include == ("a*",)
    assert load(tmp_path, include="sales/*").include == ("sales/*",)


def test_lists_from_code_may_be_lists_or_tuples(tmp_path: Path) -> None:
    assert load(tmp_path, include=["a", "b"]).include == load(tmp_path, include=("a", "b")).include == ("a", "b")


def test_a_path_from_code_is_as_good_as_text(tmp_path: Path) -> None:
    assert load(tmp_path, state=tmp_path / "s").state == str(tmp_path / "s")


def test_a_whole_number_will_do_for_a_number(tmp_path: Path) -> None:
    assert load(tmp_path, "footer_timeout = 5").footer_timeout == 5.0
    assert load(tmp_path, environment={"R2D2_FOOTER_TIMEOUT": "5"}).footer_timeout == 5.0


@pytest.mark.parametrize("text", ["1", "true", "True", "YES", "yes"])
def test_words_for_yes(text: str, tmp_path: Path) -> None:
    assert load(tmp_path, environment={"R2D2_BAG": text}).bag is True


@pytest.mark.parametrize("text", ["0", "false", "FALSE", "no", ""])
def test_words_for_no(text: str, tmp_path: Path) -> None:
    assert load(tmp_path, "bag = true", {"R2D2_BAG": text}).bag is False


# ---- wrong values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("keep_runs = 'three'", "must be a whole number, not 'three'"),
        ("keep_runs = 2.5", "must be a whole number, not 2.5"),
        ("keep_runs = true", "must be a whole number, not True"),
        ("footer_timeout = '5'", "must be a number, not '5'"),
        ("footer_timeout = true", "must be a number, not True"),
        ("bag = 1", "must be true or false, not 1"),
        ("bag = 'yes'", "must be true or false, not 'yes'"),
        ("state = 5", "must be text, not 5"),
        ("state = ['a']", "must be text, not ['a']"),
        ("include = 5", "must be a list of text, not 5"),
        ("include = ['a', 5]", "must be a list of text, not ['a', 5]"),
        ("include = {a = 1}", "must be a list of text"),
        ("[state]\nx = 1", "must be text"),
        ("keep_runs = 2024-01-01", "must be a whole number"),
    ],
)
def test_a_wrong_type_in_the_file_is_told_with_its_place(toml: str, says: str, tmp_path: Path) -> None:
    message = refused(tmp_path, toml)
    assert says in message and str(tmp_path / "r2d2.toml") in message


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("R2D2_KEEP_RUNS", "many", "must be a whole number, not 'many'"),
        ("R2D2_KEEP_RUNS", "1.5", "must be a whole number, not '1.5'"),
        ("R2D2_KEEP_RUNS", "", "must be a whole number, not ''"),
        ("R2D2_FOOTER_TIMEOUT", "5s", "must be a number, not '5s'"),
        ("R2D2_BAG", "maybe", "must be true or false, not 'maybe'"),
    ],
)
def test_a_wrong_type_in_the_environment_is_told_with_its_variable(
    variable: str, text: str, says: str, tmp_path: Path
) -> None:
    message = refused(tmp_path, environment={variable: text})
    assert says in message and variable in message


@pytest.mark.parametrize(("name", "value"), [("keep_runs", "three"), ("include", 5), ("bag", "yes"), ("state", 7)])
def test_a_wrong_type_from_code_is_told(name: str, value: Any, tmp_path: Path) -> None:
    assert f"{name} in" in refused(tmp_path, **{name: value})


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("keep_runs = 0", "--keep-runs must be at least 1, not 0"),
        ("footer_timeout = 0.0", "--footer-timeout must be at least 0.1"),
        ("footer_timeout = nan", "--footer-timeout must be"),
        (
            "master = 'mesos://host'",
            "--master must be local[N], local[*], spark://host:7077, yarn or k8s://host, not mesos://host",
        ),
        ("remote = 'host:15002'", "--remote must start with sc://, not host:15002"),
        ("footer_timeout = inf", "--footer-timeout must be at least 0.1 and at most 86400"),
        ("quiet_period = inf", "--quiet-period must be at least 0, and finite, not inf"),
        ("retention = 40000.0", "--retention must be at least 0 and at most 36500, not 40000.0"),
        ("epsilon = 1e-17", "--epsilon must be 0, or at least 0.000001 and below 1, not 1e-17"),
        ("epsilon = -0.1", "--epsilon must be 0, or"),
        ("epsilon = nan", "--epsilon must be 0, or"),
        ("epsilon = 1.0", "--epsilon must be 0, or"),
        ("partition_types = 'guess'", "--partition-types must be one of infer, string, not guess"),
    ],
)
def test_a_value_out_of_bounds_is_told_wherever_it_comes_from(toml: str, says: str, tmp_path: Path) -> None:
    name, _, value = toml.partition(" = ")
    assert says in refused(tmp_path, toml)
    assert says in refused(tmp_path, environment={f"R2D2_{name.upper()}": value.strip("'")})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_no_setting_is_infinite_or_no_number(value: float, tmp_path: Path) -> None:
    for declaration in declarations():
        if declaration.type is float:
            assert f"{declaration.option} must be" in refused(tmp_path, **{declaration.name: value})


@pytest.mark.parametrize("toml", ["keep_run = 2", "keep-runs = 2", "Keep_Runs = 2"])
def test_an_unknown_name_gets_the_nearest(toml: str, tmp_path: Path) -> None:
    message = refused(tmp_path, toml)
    assert "does not exist" in message and "did you mean keep_runs?" in message


def test_an_unknown_name_from_code_gets_the_nearest(tmp_path: Path) -> None:
    assert "did you mean keep_runs?" in refused(tmp_path, keep_run=2)


def test_an_unknown_name_like_no_other_gets_a_place_to_look(tmp_path: Path) -> None:
    assert "docs/cli-reference.md" in refused(tmp_path, "zzzz = 1")


@pytest.mark.parametrize("content", [b"state = ", b"= 1", b"state = 'a'\nstate = 'b'", b"\xff\xfe\x00", b"state: x"])
def test_a_file_that_is_not_toml_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r2d2.toml").write_bytes(content)
    with pytest.raises(UserError, match="cannot read"):
        load_settings(folder=tmp_path, environment={})


@given(st.dictionaries(st.sampled_from([d.variable for d in DECLARED.values()]), st.text(max_size=5), max_size=4))
def test_no_environment_makes_a_traceback(environment: dict[str, str]) -> None:
    try:
        load_settings(folder=Path("/nonexistent"), environment=environment)
    except UserError as error:
        assert error.hint


# ---- declarations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECLARED)
def test_every_setting_has_help_a_type_and_a_default_that_passes_its_own_check(name: str) -> None:
    declaration = DECLARED[name]
    assert declaration.help and declaration.help[0].islower()
    assert declaration.type in (str, int, float, bool, tuple[str, ...])
    assert declaration.check is None or declaration.check(declaration.default) is None
    assert declaration.option == "--" + name.replace("_", "-") and declaration.variable == "R2D2_" + name.upper()


# ---- guards ----------------------------------------------------------------------------------------------------------

WEAKER = {
    "retention": ("0", "29.9"),
    "quiet_period": ("0", "3599"),
    "min_age": ("0", "6"),
    "plan_empty": ("true",),
    "master": ("'spark://elsewhere:7077'", "'yarn'", "'k8s://x'"),
    "remote": ("'sc://elsewhere'",),
}
HARMLESS = {
    "retention": ("30", "90"),
    "quiet_period": ("3600", "7200"),
    "min_age": ("7", "30"),
    "plan_empty": ("false",),
    "master": ("'local'", "'local[4]'", "'local[*]'"),
    "remote": ("''",),
}


def in_folder(folder: Path, toml: str, environment: dict[str, str] | None = None, **given: Any) -> Settings:
    """The settings of somebody who stands in a folder with an r2d2.toml."""
    (folder / "r2d2.toml").write_text(toml, "utf-8")
    return load_settings(given, folder=folder, environment=environment or {})


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WEAKER.items() for value in values])
def test_a_file_of_the_working_folder_cannot_weaken_a_guard(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"sets {name} = ") as caught:
        in_folder(tmp_path, f"{name} = {value}")
    path = tmp_path / "r2d2.toml"
    assert str(path) in str(caught.value) and f"--config {path}" in caught.value.hint
    named = load_settings({}, config=path, environment={})
    assert getattr(named, name) != DECLARED[name].default
    said = getattr(named, name)  # by option or in the environment it is the user's own
    assert getattr(in_folder(tmp_path, f"{name} = {value}", **{name: said}), name) == said
    variable = {DECLARED[name].variable: in_environment(said)}
    assert getattr(in_folder(tmp_path, f"{name} = {value}", variable), name) == said


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in HARMLESS.items() for value in values])
def test_a_file_of_the_working_folder_may_strengthen_a_guard(tmp_path: Path, name: str, value: str) -> None:
    named = load(tmp_path, f"{name} = {value}")
    assert in_folder(tmp_path, f"{name} = {value}") == named


def test_every_guard_is_tried_above() -> None:
    assert {name for name, one in DECLARED.items() if one.weakens} == WEAKER.keys() == HARMLESS.keys()


def test_a_named_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*none\.toml"):
        load_settings({}, config=tmp_path / "none.toml", environment={})


@pytest.mark.parametrize("name", ["protect", "legal_hold", "protect_owner"])
def test_what_one_place_protects_no_other_takes_away(tmp_path: Path, name: str) -> None:
    (tmp_path / CONFIG_FILE).write_text(f'{name} = ["a", "b"]\nprefer = ["p"]\n')
    environment = {f"R2D2_{name.upper()}": f"b{os.pathsep}c"}
    loaded = load_settings({name: ["d"], "prefer": ["q"]}, folder=tmp_path, environment=environment)
    assert getattr(loaded, name) == ("a", "b", "c", "d") and loaded.prefer == ("q",)
    named = load_settings({name: []}, config=tmp_path / CONFIG_FILE, environment={f"R2D2_{name.upper()}": ""})
    assert getattr(named, name) == ("a", "b")


@pytest.mark.parametrize("name", sorted(WEAKER))
def test_a_variable_that_weakens_a_guard_is_named_unless_an_option_takes_its_place(name: str) -> None:
    variable = DECLARED[name].variable
    for text in (value.strip("'") for value in WEAKER[name]):
        assert weakened_by_environment({}, {variable: text}) == [f"{variable}={text}"]
        assert weakened_by_environment({name: DECLARED[name].default}, {variable: text}) == []
    for text in (value.strip("'") for value in HARMLESS[name]):
        assert weakened_by_environment({}, {variable: text}) == []
