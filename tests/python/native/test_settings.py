"""`configure` on sessions that refuse to set or to tell settings, as serverless platforms do."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import windrow as wr
from windrow._spark.configure import SETTINGS, setting

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


class Session:
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


def configured(session: Session) -> tuple[dict[str, str], list[str]]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        settings = wr.configure(session)  # type: ignore[arg-type]
    assert all(warning.filename == __file__ for warning in warned)
    return settings, [str(warning.message) for warning in warned]


def test_all_settings_are_set_without_a_warning() -> None:
    session = Session({})
    assert configured(session) == (SETTINGS, [])
    assert session.values == SETTINGS


def test_a_session_that_refuses_everything_is_named_once() -> None:
    settings, (message,) = configured(Session({}, SETTINGS, SETTINGS))
    assert settings == {}
    assert all(key in message for key in SETTINGS)
    assert "CONFIG_NOT_AVAILABLE" in message
    assert "stacktrace" not in message
    assert "a stream fails unless RocksDB is the platform's own state store" in message


def test_what_can_be_set_is_set() -> None:
    session = Session({}, [BYTES], [BYTES])
    settings, (message,) = configured(session)
    assert settings == session.values == {key: value for key, value in SETTINGS.items() if key != BYTES}
    assert PROVIDER not in message
    assert "queries are slower" in message


def test_a_refused_setting_that_has_the_value_is_no_problem() -> None:
    assert configured(Session(dict(SETTINGS), SETTINGS)) == (SETTINGS, [])


def test_a_setting_is_readable_or_not() -> None:
    sessions: Any = Session({"a": "7"}), Session({"a": "7"}, untold=["a"]), Session({})
    assert [setting(session, "a") for session in sessions] == ["7", None, None]
