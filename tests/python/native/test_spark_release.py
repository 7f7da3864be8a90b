"""What a release of Spark lacks is found by its methods, and what a session refuses to set is named at the call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import pyspark.sql.types as spark
import pytest

import windrow as wr
from windrow._executor.stream.index import INDEX
from windrow._executor.stream.pages import probe
from windrow._spark.configure import SETTINGS, setting
from windrow._spark.release import check_observation, check_stream, has_setting, is_frame
from windrow._spark.types import arrow_field

from ..harness.steps import DictState

CUTS = {"4.0.0": "fa33ea000a0bda9e5a3fa1af98e8e85b8cc5e4d4", "4.0.1": "29434ea766b0fc3c3bf6eaadb43a8f931133649e"}


class Session:
    """A session of a Spark with this version, which a vendor may have built from another commit."""

    def __init__(self, version: str, commit: str) -> None:
        self.version = version
        self.commit = commit
        self.conf = self

    def get(self, key: str) -> str | None:
        if key != "known":
            raise KeyError(f"[{'SQL_CONF_NOT_FOUND' if key == 'unknown' else 'CONFIG_NOT_AVAILABLE'}] {key}")
        return "1"

    def sql(self, query: str) -> Session:
        assert query == "SELECT version()"
        return self

    def first(self) -> tuple[str]:
        return (f"{self.version} {self.commit}",)


def frame(
    *methods: str, connect: bool = False, version: str = "4.0.2", commit: str = "c0ffee", of_4: bool = True
) -> Any:
    """A streaming DataFrame, whose groups have these methods."""
    grouped = type("GroupedData", (), dict.fromkeys(methods))()
    members: dict[str, Any] = {"groupBy": lambda _: grouped, "isStreaming": True}
    members["sparkSession"] = Session(version, commit)
    members |= {"toArrow": None} if of_4 else {}
    module = "pyspark.sql.connect.dataframe" if connect else "pyspark.sql.dataframe"
    return type("DataFrame", (), {**members, "__module__": module})()


ROWS, PANDAS = "transformWithState", "transformWithStateInPandas"
CUT = "batch only, as Spark {} cuts large state values (SPARK-53870); streams from 4.0.2 on"
REFUSED = {
    "3.5": (frame(of_4=False), "batch only, as this Spark has no transformWithState; streams from Spark 4.0.2 on"),
    "3.5 on Connect": (frame(connect=True, of_4=False), "batch only, as this Spark has no transformWithState"),
    "4.0 on Connect": (frame(connect=True), "batch only, as Spark Connect has transformWithState from 4.1 on"),
    **{name: (frame(PANDAS, version=name, commit=commit), CUT.format(name)) for name, commit in CUTS.items()},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_is_refused_where_its_state_cannot_be_kept(name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises(ValueError, match="data: got 'a streaming DataFrame of PySpark") as raised:
        wr.group_by(given, "user", time="ts")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        frame(ROWS, PANDAS),
        frame(ROWS, connect=True),
        frame(PANDAS, version="4.0.2"),
        frame(PANDAS, version="16.2", of_4=False),  # a vendor's 3.5 with the operator of 4.0
        frame(PANDAS, version="4.0.1", commit="ba5eba11"),  # a vendor's
        frame(ROWS, PANDAS, version="4.0.1", commit=CUTS["4.0.1"]),
    ],
)
def test_a_stream_is_taken_wherever_one_of_the_methods_is(given: Any) -> None:
    check_stream(given)


def test_an_observation_is_refused_on_a_connect_that_never_fills_it() -> None:
    for taken in (frame(), frame(connect=True), frame(of_4=False)):
        check_observation(taken)
    with pytest.raises(
        ValueError, match=r"observation: got .* before 4\.0'; allowed: Spark classic, or Connect from 4\.0"
    ):
        check_observation(frame(connect=True, of_4=False))


def test_frames_are_recognised_by_their_names() -> None:
    assert is_frame(frame())
    assert is_frame(frame(connect=True))
    for other in ("DataFrame", "pyspark.pandas.frame"), ("GroupedData", "pyspark.sql.group"), ("DataFrame", "pandas"):
        assert not is_frame(type(other[0], (), {"__module__": other[1]})())


def test_a_setting_is_there_unless_the_session_says_that_it_does_not_know_it() -> None:
    assert has_setting(Session("", ""), "known")
    assert has_setting(Session("", ""), "refused")
    assert not has_setting(Session("", ""), "unknown")


class Cut(DictState):
    """A state that keeps 64 KiB of a value, as a Spark with SPARK-53870 may."""

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802
        super().updateValue(key, (value[0][: 1 << 16],))


def test_a_vendors_store_that_cuts_a_large_value_is_found_before_a_state_is_in_it() -> None:
    for state in (DictState(), Cut()):
        state.updateValue((INDEX,), ("what was kept before",))
        probe(state)
        assert [*state.pages] == [INDEX]
    whole = DictState()
    probe(whole)
    assert not whole.pages
    with pytest.raises(RuntimeError, match=r"state: a value of 1,048,576 characters came back changed.*4\.0\.2"):
        probe(Cut())


@pytest.mark.parametrize("argument", ["keys", "x", "column"])
def test_an_interval_of_months_is_refused_in_words_that_fit_every_argument(argument: str) -> None:
    column = spark.StructField("age", spark.YearMonthIntervalType())
    words = f"{argument}: column 'age' has type interval year to month; allowed: .* for intervals, day-time ones"
    with pytest.raises(TypeError, match=words) as raised:
        arrow_field(argument, column, compared=False)
    assert "length" not in str(raised.value)


# `configure` on sessions that refuse to set or to tell settings, as serverless platforms do

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


class Refusing:
    """A session, and its settings, that refuses to set some keys, and to tell some."""

    def __init__(self, values: dict[str, str], unset: Iterable[str] = (), untold: Iterable[str] = ()) -> None:
        self.conf = self
        self.values, self.unset, self.untold = values, unset, untold

    def set(self, key: str, value: str) -> None:
        if key in self.unset:
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.\nJVM stacktrace:")
        self.values[key] = value

    def get(self, key: str, *default: Any) -> str:
        if key in self.untold or key not in self.values:
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        return self.values[key]

    def createDataFrame(self) -> None: ...  # noqa: N802


def configured(session: Refusing) -> tuple[dict[str, str], list[str]]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        settings = wr.configure(session)  # type: ignore[arg-type]
    assert all(warning.filename == __file__ for warning in warned)
    return settings, [str(warning.message) for warning in warned]


def test_all_settings_are_set_without_a_warning() -> None:
    session = Refusing({})
    assert configured(session) == (SETTINGS, [])
    assert session.values == SETTINGS


def test_a_session_that_refuses_everything_is_named_once() -> None:
    settings, (message,) = configured(Refusing({}, SETTINGS, SETTINGS))
    assert settings == {}
    assert all(key in message for key in SETTINGS)
    assert "CONFIG_NOT_AVAILABLE" in message
    assert "stacktrace" not in message
    assert "a stream fails unless RocksDB is the platform's own state store" in message


def test_what_can_be_set_is_set() -> None:
    session = Refusing({}, [BYTES], [BYTES])
    settings, (message,) = configured(session)
    assert settings == session.values == {key: value for key, value in SETTINGS.items() if key != BYTES}
    assert PROVIDER not in message
    assert "queries are slower" in message


def test_a_refused_setting_that_has_the_value_is_no_problem() -> None:
    assert configured(Refusing(dict(SETTINGS), SETTINGS)) == (SETTINGS, [])


def test_a_setting_is_readable_or_not() -> None:
    sessions: Any = Refusing({"a": "7"}), Refusing({"a": "7"}, untold=["a"]), Refusing({})
    assert [setting(session, "a") for session in sessions] == ["7", None, None]
