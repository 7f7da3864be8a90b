"""Numbers of text files with commas and points, as their decimal point or between thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..harness.command import Command, command

__all__ = ["command"]

NINE = "2026-05-04 09:00"
SUM = "sessions rows.csv --key user --time ts --gap 1h --delimiter ';' --quiet --agg s=sum:x"


def write(*values: str) -> None:
    """Writes `rows.csv` with these values in the column `x`."""
    Path("rows.csv").write_text("user;ts;x\n" + "".join(f"ann;{NINE};{value}\n" for value in values))


def test_numbers_with_decimal_commas(command: Command) -> None:
    write("1,5", "-2,25")
    line = f"{SUM} --agg m=min:x"
    assert command(f"{line} --decimal ,").out.splitlines()[1].endswith(';"-0,75";"-2,25"')
    assert "got '1,5'; allowed: numbers; --decimal , reads it as 1.5" in command.refused(line)
    assert "--decimal: got ';'; allowed: '.' or ','" in command.refused(f"{line} --decimal ';'")


FIX = "; with --decimal , write {}"
STRING = ", --type x=string keeps all as text"
USES = {
    "--gap 1h --agg s=sum:x": f"--agg s: column 'x': got '{{}}'; allowed: numbers{FIX}",
    "--gap 1h --agg m=max:x": f"--agg m: column 'x': got '{{}}'; allowed: numbers{FIX}{STRING}",
    "--gap 1h --agg s=sum:x --type x=double": f"double, the type that --type names{FIX}{STRING}",
    "--dynamic-gap x --gap-unit ms": f"--dynamic-gap: column 'x': got '{{}}'; allowed: numbers{FIX}",
}


@pytest.mark.parametrize(
    ("value", "written"),
    [("1.234", "1234 or 1,234"), ("1.234.567", "1234567"), ("-1.234,5", "-1234,5"), (".5", ",5"), ("1.5e1", "1,5e1")],
)
@pytest.mark.parametrize("use", USES)
def test_no_point_is_a_decimal_point_where_a_comma_is(use: str, value: str, written: str, command: Command) -> None:
    """A German export has points between thousands: 1.234 is 1234."""
    line = f"sessions rows.csv --key user --time ts --delimiter ';' --decimal , {use}"
    write("950", value)
    assert command.refused(line).endswith(USES[use].format(*[value] * ("got" in USES[use]), written))
    for each in written.split(" or "):
        write("950", each)
        command(line)


FIXES = {
    ("1,234.50", ""): "allowed: numbers; write 1234.50",
    ("1,5", ""): "allowed: numbers; --decimal , reads it as 1.5",
    ("1,234", ""): "allowed: numbers; --decimal , reads it as 1.234, or write 1234",
    ("2.5 1,5", ""): "allowed: numbers; write 1.5",
    ("1.234", "--decimal , --type x=int64"): f"with --decimal , write 1234{STRING}",
    ("1.234,5", "--decimal , --type x=int64"): "with --decimal , write 1234,5; --type x=double reads it",
    ("1.2.3", "--decimal ,"): "allowed: numbers; --null 1.2.3 makes it null",
}


@pytest.mark.parametrize(("values", "options"), FIXES)
def test_numbers_whose_marks_do_not_fit_name_what_does(values: str, options: str, command: Command) -> None:
    write(*values.split())
    assert command.refused(f"{SUM} {options}").endswith(FIXES[values, options])


def test_a_decimal_comma_leaves_other_points_as_they_are(command: Command) -> None:
    """Text has them, and so have numbers of JSON."""
    write("1.2.3", "1.10.3")
    line = f"{SUM} --decimal ,".replace("s=sum", "m=max")
    assert command(line).out.endswith(';"1.2.3"\n')
    Path("rows.jsonl").write_text(f'{{"user": "1.5", "ts": "{NINE}", "x": 1.5}}\n' * 2)
    assert command(f"{line} --agg s=sum:x".replace("csv", "jsonl")).out.endswith(';"1.5";"3"\n')
