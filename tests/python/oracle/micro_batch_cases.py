"""Small micro-batches whose answers were computed by hand, one for each rule. `micro_batch_case` explains the text."""

from __future__ import annotations

from .micro_batch_case import Case
from .streaming_scenario import Restart

UPDATE = {"emit": "update"}
ORDERED = {"ordered": True}
SOURCE = {"sourced": True}
SLOWEST = {"sourced": True, "stream_time": "slowest"}
COGROUP = {"inputs": 2}
LATE = {"late": "emit"}
PACED = {"emit": "update", "every": 10}

CASES = [
    # Without an order (rules 1.2): by the time before the batch
    Case(
        "a batch is judged by the stream time before it: one below, on and one above what closes",
        *("session", 5, 0),
        ["a@100", "b@200 b@94 c@95 d@96"],
        [[], ["a[100,100] 1", "c[95,95] 4", "d[96,96] 5"]],
        {"records": 5, "late": 1, "windows_closed": 3},
    ),
    Case(
        "a group is late as a whole, or not at all",
        *("session", 5, 0),
        # b: 90 ─ 94, reach 99    c: 90 ─ 95, reach 100    d: 90 │ 96: two groups
        ["a@100", "b@90 b@94 c@90 c@95 d@90 d@96", "tick@101"],
        [[], [], ["c[90,95] 4 5"]],
        {"late": 3, "ticks": 1},
    ),
    Case(
        "an open session holds records far behind stream time, over other records of the batch",
        *("session", 5, 0),
        # a: 97 is open, reach 102    b: 97 alone
        ["a@97 z@100", "a@82 a@87 a@92 b@87", "tick@103"],
        [[], [], ["a[82,97] 1 3 4 5"]],
        {"late": 1},
    ),
    Case(
        "a late group leaves a closed session that it touches, one that reaches the close time revives it",
        *("session", 5, 0),
        ["a@10 b@30", "a@12", "a@15 a@20 a@25", "tick@31"],
        [["a[10,10] 1"], [], [], ["a[10,25] 1 4 5 6"]],
        {"late": 1, "windows_closed": 2},
        {"until": 50},
    ),
    Case(
        "sliding windows take the records of a batch from the latest on",
        *("sliding", 10, 0),
        # 102 makes [92,102]; 95 is in it, refused by [85,95], and has a right window that holds 102
        ["a@100", "b@95 b@102"],
        [["a[90,100] 1"], ["b[92,102] 2 3", "b[96,106] 3"]],
        {"records": 3, "late": 0, "windows_refused": 1, "updates": 3},
        UPDATE,
    ),
    Case(
        "after a refusal, too, and although no record of the batch is late",
        *("sliding", 20, 0),
        # [96,116] refused 3. Taken first, 5 makes [120,140], which 4 then joins
        ["a@109", "b@123", "a@116", "a@123 a@140"],
        [
            ["a[89,109] 1"],
            ["b[103,123] 2"],
            ["a[110,130] 3"],
            ["a[103,123] 1 4", "a[110,130] 3 4", "a[120,140] 4 5", "a[124,144] 5"],
        ],
        {"records": 5, "late": 0, "windows_refused": 1, "updates": 7},
        UPDATE,
    ),
    # With an order (rules 1.3)
    Case(
        "with an order sliding windows take the records of a batch in this order",
        *("sliding", 20, 0),
        # 5 copies [110,130], in which 4 already is, because [117,137] was never made (rules 9.7)
        ["a@109#1", "b@123#2", "a@116#3", "a@123#4 a@140#5"],
        [
            ["a[89,109] 1"],
            ["b[103,123] 2"],
            ["a[110,130] 3"],
            ["a[103,123] 1 4", "a[110,130] 3 4", "a[120,140] 3 4 5", "a[124,144] 5"],
        ],
        {"records": 5, "late": 0, "windows_refused": 1, "updates": 7},
        UPDATE | ORDERED,
    ),
    Case(
        "a tick closes a session that a later record of the batch revives",
        *("session", 10, 10),
        ["a@34#1 a@51#2", "tick@66#3 a@42#4"],
        [["a[34,34] 1", "a[51,51] 2"], ["-a[34,34]", "-a[51,51]", "a[34,51] 1 2 3"]],
        {"late": 0, "windows_closed": 1},
        UPDATE | ORDERED | {"every_record": True, "until": 50},
    ),
    Case(
        "with an order a record is judged by what is before it, wherever it is in the batch",
        *("session", 5, 0),
        ["a@100#1", "b@95#4 b@200#3 b@95#2"],
        [[], ["a[100,100] 1", "b[95,95] 4"]],
        {"late": 1},
        ORDERED,
    ),
    Case(
        "a tick has its place among the records; without an order it is after all of them",
        *("session", 5, 0),
        ["a@100#1", "tick@200 b@95#2", "tick@300#3 b@196#4", "tick@400#6 b@296#5"],
        [[], ["a[100,100] 1", "b[95,95] 2"], [], ["b[296,296] 4"]],
        {"late": 1, "ticks": 3},
        ORDERED,
    ),
    Case(
        "with an order windows still close at the end of the batch",
        *("session", 5, 0),
        # 13 comes when 10 is past its end, but visible: no final of 10 alone
        ["a@10#1 b@18#2 a@13#3", "tick@19"],
        [[], ["a[10,13] 1 3"]],
        {"late": 0, "windows_closed": 1},
        ORDERED | {"until": 50},
    ),
    Case(
        "equal orders go by the position of the input: the first one's time counts for the second",
        *("session", 5, 0),
        # order 5: input 0 comes to 100, so 90 (reach 95) is closed for 95 of input 1
        ["a@90/1#1 z@10/0#1", "z@100/1#2 y@100/0#5 a@95/1#5", "tick@101/0 tick@101/1"],
        [[], ["z[10,10] 2", "a[90,90] 1"], ["a[95,95] 5"]],
        {"late": 0},
        ORDERED | COGROUP,
    ),
    Case(
        "equal orders go by the position of the input: the second one's time does not count for the first",
        *("session", 5, 0),
        ["a@90/0#1 z@10/1#1", "z@100/0#2 y@100/1#5 a@95/0#5", "tick@101/0 tick@101/1"],
        [[], ["z[10,10] 2"], ["a[90,95] 1 5"]],
        {"late": 0},
        ORDERED | COGROUP,
    ),
    # Sources (rules 1.4) and ticks (rules 1.5)
    Case(
        "each source has a time and windows of its own",
        *("session", 5, 0),
        ["a@100~0 b@10~1", "a@20~0 a@20~1", "a@105~0 a@21~1"],
        [[], ["b[10,10] 2"], []],
        {"late": 1, "windows_closed": 1},
        SOURCE,
    ),
    Case(
        "a key of two sources has windows in each",
        *("session", 5, 10),
        ["a@10~0 a@10~1", "a@12~1"],
        [["a[10,10] 1", "a[10,10] 2"], ["-a[10,10]", "a[10,12] 2 3"]],
        {"updates": 4},
        SOURCE | UPDATE,
    ),
    Case(
        "the slowest source keeps the time of all, which never goes back",
        *("session", 5, 0),
        # stream time: 10 ── 12 ── 50 ─── 50 (source 2 begins at 5) ── 90
        ["a@100~0 b@10~1", "a@20~0 b@12~1", "tick@50~1", "c@5~2", "tick@90~*"],
        [[], [], ["b[10,12] 2 4", "a[20,20] 3"], [], []],
        {"late": 1, "windows_closed": 2},
        SLOWEST,
    ),
    Case(
        "a tick without a source is of all known ones, those of its batch too",
        *("session", 5, 0),
        ["a@10~0", "b@10~1 tick@50~*"],
        [[], ["a[10,10] 1", "b[10,10] 2"]],
        {"ticks": 1},
        SOURCE,
    ),
    Case(
        "with the slowest source, a tick is of one that its batch brings too",
        *("session", 5, 0),
        ["a@10~0", "b@10~1 tick@50~*"],
        [[], ["a[10,10] 1", "b[10,10] 2"]],
        {"ticks": 1},
        SLOWEST,
    ),
    Case(
        "what has no key, no time or no good gap moves no time",
        *("dynamic", 10, 0),
        # 15 is clamped to the gap 10; 10 reaches 14, 14 reaches 15
        ["_@500+1 a@+1 tick@ a@400+0 a@10+4 a@14+1 a@15+100", "tick@26"],
        [[], ["a[10,15] 4 5 6"]],
        {"records": 3, "null_keys": 1, "null_times": 1, "bad_gaps": 1, "clamped_gaps": 1, "bad_ticks": 1, "ticks": 1},
    ),
    # Grace and restarts (rules 1.7)
    Case(
        "what was closed stays closed under a larger grace",
        *("session", 5, 0),
        ["a@10 b@100", "a@12 c@95 b@105", "tick@1100", "tick@1111"],
        [["a[10,10] 1"], [], [], ["b[100,105] 2 5", "c[95,95] 4"]],
        {"late": 1},
        {"restarts": (Restart(1, 1000, "drop"),)},
    ),
    Case(
        "a smaller grace closes at once, before the records of the next batch",
        *("session", 5, 100),
        ["a@10 b@100", "a@14"],
        [[], ["a[10,10] 1", "late a[14,14] 3"]],
        {"late": 1, "late_emitted": 1},
        {"restarts": (Restart(1, 0, "emit"),)},
    ),
    Case(
        "what a smaller grace closes is final at the end of the next batch, which may revive it",
        *("session", 5, 100),
        # 20 is closed from the restart on: 10 (reach 15) is, and visible
        ["a@10 b@20", "a@15", "tick@21"],
        [[], [], ["a[10,15] 1 3"]],
        {"late": 0, "windows_closed": 1},
        {"restarts": (Restart(1, 0, "drop"),), "until": 105},
    ),
    # Cogroups (rules 5)
    Case(
        "a record is late by its own input, windows close by the slowest",
        *("session", 5, 0),
        ["a@10/0 b@100/0", "a@11/0 a@11/1", "tick@17/1"],
        [[], [], ["a[10,11] 1 4"]],
        {"late": 1},
        COGROUP,
    ),
    Case(
        "of a group, what is late by its own input is left out, and the others are grouped without it",
        *("session", 5, 0),
        # a: reach 98    b: the last record reaches 103, so 94 is in time, and joins the others
        ["z@100/0 y@10/1", "a@90/0 a@93/1 b@90/1 b@94/0 b@98/1", "tick@104/0 tick@104/1"],
        [[], ["y[10,10] 2"], ["a[93,93] 4", "b[90,98] 5 6 7"]],
        {"late": 1},
        COGROUP,
    ),
    Case(
        "what is left out of a group may leave others without what carried them",
        *("session", 5, 0),
        # Closed are 100, 60 and 50 for inputs 0, 1, 2. All three reach 61: 56 of input 0 is late. Without it 52 of
        # input 1 reaches 57, and is late; without that 47 of input 2 reaches 52, in time.
        ["z@100/0 y@60/1 x@50/2", "a@56/0 a@52/1 a@47/2", "tick@53/2"],
        [[], [], ["a[47,47] 6"]],
        {"late": 2},
        {"inputs": 3},
    ),
    Case(
        "with an order too, a record is late by its own input, over sessions that others keep open",
        *("session", 5, 0),
        ["a@100/0#1 b@10/1#1", "a@11/0#2 a@11/1#3 b@11/1#4", "tick@17/1"],
        [[], [], ["b[10,11] 2 5", "a[11,11] 4"]],
        {"late": 1},
        COGROUP | ORDERED,
    ),
    Case(
        "a source of one input is known to the other, whose ticks without a source move it",
        *("session", 5, 0),
        ["a@10/0~1", "tick@50/1~*", "tick@50/0~*"],
        [[], [], ["a[10,10] 1"]],
        {"ticks": 2},
        COGROUP | SOURCE,
    ),
    # Output (rules 6.2, 6.3)
    Case(
        "a batch gives one update for each window that it changed",
        *("session", 5, 20),
        ["a@10 a@18", "a@14", "b@10"],
        [["a[10,10] 1", "a[18,18] 2"], ["-a[10,10]", "-a[18,18]", "a[10,18] 1 2 3"], ["b[10,10] 4"]],
        {"updates": 6},
        UPDATE,
    ),
    Case(
        "a window that is born and merged within a batch leaves nothing, one that is born and closed its upsert",
        *("session", 5, 5),
        ["a@10#1 a@18#2 a@14#3 b@100#4"],
        [["a[10,18] 1 2 3", "b[100,100] 4"]],
        {"updates": 2, "windows_closed": 1},
        UPDATE | ORDERED,
    ),
    Case(
        "every record gives all of its updates",
        *("session", 5, 5),
        ["a@10#1 a@18#2 a@14#3 b@100#4"],
        [["a[10,10] 1", "a[18,18] 2", "-a[10,10]", "-a[18,18]", "a[10,18] 1 2 3", "b[100,100] 4"]],
        {"updates": 6, "windows_closed": 1},
        UPDATE | ORDERED | {"every_record": True},
    ),
    Case(
        "late records of sessions are alone in theirs",
        *("session", 5, 0),
        ["a@100", "b@90 b@92"],
        [[], ["late b[90,90] 2", "late b[92,92] 3"]],
        {"late": 2, "late_emitted": 2},
        LATE,
    ),
    Case(
        "late records of sliding windows are alone in their own windows, early ones in the first",
        *("sliding", 10, 0),
        # 95 is refused by its own window only, 89 and 5 by all that could hold them
        ["a@100", "b@95 c@89 d@5"],
        [[], ["late b[85,95] 2", "late c[79,89] 3", "late d[0,10] 4"]],
        {"late": 2, "windows_refused": 1, "late_emitted": 3},
        LATE,
    ),
    # Updates at a pace (rules 6.12)
    Case(
        "the first row leaves at once, changes one below, on and above the pace",
        *("session", 20, 50),
        ["a@10", "a@12", "tick@19", "tick@20", "a@21", "tick@29", "tick@31", "a@32"],
        [["a[10,10] 1"], [], [], ["-a[10,10]", "a[10,12] 1 2"], [], [], ["-a[10,12]", "a[10,21] 1 2 3"], []],
        {"updates": 5},
        PACED,
    ),
    Case(
        "a change within the bounds has no delete",
        *("session", 20, 50),
        ["a@10 a@14", "a@12", "b@24"],
        [["a[10,14] 1 2"], [], ["a[10,14] 1 2 3", "b[24,24] 4"]],
        {"updates": 3},
        PACED,
    ),
    Case(
        "a merged session waits as long as the part that left last, and deletes all parts",
        *("session", 5, 50),
        ["a@10", "a@18", "a@14", "tick@27", "a@12 tick@28"],
        [["a[10,10] 1"], ["a[18,18] 2"], [], [], ["-a[10,10]", "-a[18,18]", "a[10,18] 1 2 3 4"]],
        {"updates": 5},
        PACED,
    ),
    Case(
        "what waits leaves when its window closes, and what does not wait leaves no row",
        *("session", 5, 0),
        ["a@10 b@10", "a@12", "tick@17", "tick@18", "tick@99"],
        [["a[10,10] 1", "b[10,10] 2"], [], [], ["-a[10,10]", "a[10,12] 1 3"], []],
        {"updates": 4, "windows_closed": 2},
        UPDATE | {"every": 1000},
    ),
    Case(
        "a window that is born and closed within a batch gives its row",
        *("session", 5, 5),
        ["a@10#1 b@100#2"],
        [["a[10,10] 1", "b[100,100] 2"]],
        {"updates": 2, "windows_closed": 1},
        UPDATE | ORDERED | {"every": 1000},
    ),
    Case(
        "a closed session that is revived keeps its pace",
        *("session", 5, 0),
        ["a@10 b@30", "a@15 a@20 a@25", "tick@39", "tick@40"],
        [["a[10,10] 1", "b[30,30] 2"], [], ["-a[10,10]", "a[10,25] 1 3 4 5"], []],
        {"windows_closed": 3},
        PACED | {"until": 50},
    ),
    Case(
        "a restart with a shorter pace lets more leave",
        *("session", 20, 50),
        ["a@10", "a@12", "tick@14", "tick@15"],
        [["a[10,10] 1"], [], [], ["-a[10,10]", "a[10,12] 1 2"]],
        {"updates": 3},
        UPDATE | {"every": 1000, "restarts": (Restart(2, 50, "drop", 5),)},
    ),
    Case(
        "each sliding window has a pace of its own",
        *("sliding", 10, 20),
        ["a@100", "a@105", "a@103", "tick@115"],
        [
            ["a[90,100] 1"],
            ["a[95,105] 1 2", "a[101,111] 2"],
            ["a[93,103] 1 3", "a[104,114] 2"],
            ["a[95,105] 1 2 3", "a[101,111] 2 3"],
        ],
        {"updates": 7},
        PACED,
    ),
    Case(
        "without a stream time only first rows leave",
        *("session", 20, 50),
        ["a@10/0", "a@12/0 b@12/0", "tick@12/1", "tick@22/0 tick@22/1"],
        [["a[10,10] 1"], ["b[12,12] 3"], ["-a[10,10]", "a[10,12] 1 2"], []],
        {"updates": 4},
        PACED | COGROUP,
    ),
]
