"""The drop-in for trec_eval, byte for byte against what versions 10.0 and 9.0.8 print (see golden/README.md)."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from ranklens.exchange.trec.command import main

GOLDEN = Path(__file__).parents[1] / "golden"
FLAGS = {"": [], ".l2": ["-l2"], ".M10": ["-M10"], ".J": ["-J"]}


@pytest.fixture(autouse=True)
def in_golden(monkeypatch):
    monkeypatch.chdir(GOLDEN)


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("version", ["10", "9"])
def test_all_trec(capsys, version, flags):
    assert (
        main(
            [
                "--as",
                version,
                "-q",
                "-c",
                "-m",
                "all_trec",
                "-m",
                "yaap",
                *FLAGS[flags],
                "qrels.txt",
                "run.txt",
            ]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines(keepends=True)
    # 10.0 reads two variables of rbp before they have a value, so the golden files lack it.
    assert "".join(line for line in lines if not line.startswith("rbp ")) == golden(
        f"trec_eval{version}.c{flags}.txt"
    )


def test_parameters_of_measures(capsys):
    assert main([*golden("trec_eval10.params.args").split(), "qrels.txt", "run.txt"]) == 0
    assert capsys.readouterr().out == golden("trec_eval10.params.txt")


@pytest.mark.parametrize("name", ["zscores", "prefs", "qrels_prefs", "qrels_jg"])
def test_other_judgments_and_zscores(capsys, name):
    assert main(golden(f"trec_eval10.{name}.args").split()) == 0
    assert capsys.readouterr().out == golden(f"trec_eval10.{name}.txt")


def test_single_measures_of_groups(capsys):
    assert main(["-R", "qrels_jg", "-m", "P_avgjg", "-q", "groups.txt", "run.prefs.txt"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "P_avgjg_5             \tq1\t0.0000"
    assert main(["-R", "prefs", "prefs.txt", "run.prefs.txt"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "prefs_avgjg           \tall\t0.2371"
    assert main(["-R", "prefs", "-m", "map", "prefs.txt", "run.prefs.txt"]) == 1
    assert "There is no measure 'map' for these judgments" in capsys.readouterr().err


def test_without_c_it_averages_over_the_queries_in_both_files(capsys):
    assert main(["-m", "num_q", "-m", "map", "qrels.txt", "run.txt"]) == 0
    name, _, count, *_, value = capsys.readouterr().out.split()
    by_query = [
        line.split("\t") for line in golden("trec_eval10.c.txt").splitlines() if line.startswith("map ")
    ]
    # q6 is not in the run.
    total = sum(float(text) for _, query, text in by_query if query not in ("all", "q6"))
    assert (name, count) == ("num_q", "31")
    assert float(value) == pytest.approx(total / 31, abs=1e-4)


def test_official_is_the_default_and_n_leaves_the_summary_out(capsys):
    assert main(["qrels.txt", "run.txt"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()][:3] == [
        "runid",
        "num_q",
        "num_ret",
    ]
    assert main(["-n", "qrels.txt", "run.txt"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["--query_eval_wanted", "--nosummary", "--measure=P.5", "qrels.txt", "run.txt"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "P_5                   \tQ-Ω\t0.0000"


WRONG = [
    (["qrels.txt"], 1, "expected two files: judgments and a run"),
    (["-x", "qrels.txt", "run.txt"], 1, "option -x not recognized"),
    (["-l", "two", "qrels.txt", "run.txt"], 1, "-l two: expected a whole number"),
    (["-m", "mapp", "qrels.txt", "run.txt"], 1, "did you mean 'map'"),
    (["-m", "P.five", "qrels.txt", "run.txt"], 1, "P.five cannot be read: 'five' is not a whole number"),
    (["-m", "P.5,5", "qrels.txt", "run.txt"], 1, "P: a cutoff appears twice"),
    (["-m", "P.", "qrels.txt", "run.txt"], 1, "the parameters after the dot are missing"),
    (["-m", "ndcg.1", "qrels.txt", "run.txt"], 1, "ndcg.1 cannot be read: write it as ndcg.1=3,2=9."),
    (["-m", "rbp.0.8", "qrels.txt", "run.txt"], 1, "rbp.0.8 cannot be read: write it as rbp.p=0.8."),
    (["-m", "rbp.1=2", "qrels.txt", "run.txt"], 1, "rbp takes p, as in rbp.p=0.8"),
    (["-l", "-1", "qrels.txt", "run.txt"], 1, "-l -1: expected a whole number from 0"),
    (["-m", "all_prefs", "qrels.txt", "run.txt"], 1, "There is no measure 'all_prefs' for these judgments"),
    (["-Z", "nothing", "qrels.txt", "run.txt"], 2, "nothing does not exist"),
    (["-R", "other", "qrels.txt", "run.txt"], 2, "-R other: choose from 'qrels', 'prefs'"),
    (["qrels.txt", "nothing"], 2, "nothing does not exist"),
    (["run.txt", "qrels.txt"], 2, "qrels.txt:1: expected 6 fields"),
]


@pytest.mark.parametrize(("arguments", "status", "message"), WRONG, ids=[w[2] for w in WRONG])
def test_wrong_usage_and_input(capsys, arguments, status, message):
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_help_and_version(capsys):
    assert main(["-h", "-m", "map"]) == 0
    out = capsys.readouterr().out
    assert "Usage" in out
    assert "The sum of the precision" in out
    assert main(["-v"]) == 0
    assert "trec_eval version 10.0" in capsys.readouterr().err


def lines(capsys, *arguments):
    assert main([*arguments]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def files(tmp_path):
    def write(**contents):
        for name, content in contents.items():
            (tmp_path / name).write_text(content)
        return [str(tmp_path / name) for name in contents]

    return write


def test_parameters_are_read_as_c_reads_numbers(capsys):
    assert lines(capsys, "-mndcg_cut.10,20,23.4", "qrels.txt", "run.txt")[2].startswith("ndcg_cut_23 ")
    assert lines(capsys, "-mP.7,5", "-m", "official", "-m", "map.5", "qrels.txt", "run.txt")[-2:] == lines(
        capsys, "-m", "P.5,7", "qrels.txt", "run.txt"
    )
    resid = lines(capsys, "-m", "rbp_resid.p=0.5", "-m", "rbp_resid", "qrels.txt", "run.txt")
    assert [line.split()[0] for line in resid] == ["rbp_resid_p=0.5"]


def test_flags_may_be_glued_and_shortened(capsys):
    expected = lines(capsys, "-q", "-c", "-l", "2", "-m", "P.5", "qrels.txt", "run.txt")
    assert lines(capsys, "-cql2", "-mP.5", "qrels.txt", "run.txt") == expected
    assert (
        lines(capsys, "qrels.txt", "run.txt", "-o", "--query", "--complete", "--level=2", "--meas", "P.5")
        == expected
    )


def test_grades_are_whole_numbers(capsys, files):
    exact = files(q="q 0 a 1\nq 0 b 0\nq 0 c -1\n", r="q Q0 c 1 3 t\nq Q0 b 2 2 t\nq Q0 a 3 1 t\n")
    expected = lines(capsys, "-q", "-m", "all_trec", *exact)
    with_floats = files(q2="q 0 a 1.9\nq 0 b 0.7\nq 0 c -1.5\n")
    assert lines(capsys, "-q", "-m", "all_trec", *with_floats, exact[1]) == expected


def test_the_ideal_dcg(capsys, files):
    paths = files(q="q 0 a 3\nq 0 b 1\nq 0 c 0\n", r="q Q0 b 1 2 t\nq Q0 x 2 1 t\n")
    found = lines(capsys, "-q", "-m", "dcg", "-m", "ideal_dcg", "-m", "ndcg", *paths)
    assert [line.split("\t")[2] for line in found[:3]] == ["1.0000", "3.6309", "0.2754"]


def test_zscores_of_all_kinds_of_measures(capsys, files):
    """As in trec_eval's own test: no z-score for relstring and runid, 0 where a constant is met, -1000000 where not."""
    z = files(z="q num_ret 1 2\nq num_rel 1 0\nq map 0.5 0\nq P_5 nan 1\n")[0]
    paths = files(q="q 0 a 1\n", r="q Q0 a 1 2 tag\n")
    found = lines(capsys, "-q", "-m", "all_trec", "-Z", z, *paths)
    by_query = {line.split()[0]: line.split("\t")[1:] for line in found if "\tq\t" in line}
    assert by_query["Znum_ret"] == ["q", "0.0000"]
    assert by_query["Znum_rel"] == ["q", "0.0000"]
    assert by_query["Zmap"] == ["q", "-1000000.0000"]
    assert by_query["ZP_5"] == ["q", "   nan"]
    assert by_query["relstring"] == ["q", "'1'"]
    final = {line.split()[0]: line.split("\t")[2] for line in found if "\tall\t" in line}
    assert (final["runid"], final["Znum_q"], final["Zgm_map"]) == ("tag", "1.0000", "0.0000")


def test_the_groups_of_judgments_read_as_preferences_are_their_iterations(capsys, files):
    """Two users who prefer the opposite: each pair is kept for one of them."""
    paths = files(q="q 1 a 1\nq 1 b 0\nq 2 a 0\nq 2 b 1\n", r="q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    found = lines(capsys, "-R", "qrels_prefs", "-m", "prefs_num_prefs_poss", "-m", "prefs_simp", *paths)
    assert [line.split("\t")[2] for line in found] == ["2", "0.5000"]


def test_measures_of_groups_take_parameters(capsys):
    found = lines(
        capsys, "-R", "qrels_jg", "-m", "P_avgjg.20,10", "-m", "num_q", "groups.txt", "run.prefs.txt"
    )
    assert [line.split()[0] for line in found] == ["num_q", "P_avgjg_10", "P_avgjg_20"]
    assert found[1] in golden("trec_eval10.qrels_jg.txt").splitlines()


def test_debugging_a_query_evaluates_it_alone_and_tells_on_standard_error(capsys):
    assert main(["-q", "-m", "P.5", "-D", "1.q1", "qrels.txt", "run.txt"]) == 0
    captured = capsys.readouterr()
    by_query = [
        line
        for line in golden("trec_eval10.c.txt").splitlines()
        if line.startswith("P_5 ") and "\tq1\t" in line
    ]
    assert captured.out.splitlines()[0] == by_query[0]
    assert "query q1: " in captured.err
    everything = lines(capsys, "-m", "P.5", "qrels.txt", "run.txt")
    assert lines(capsys, "-m", "P.5", "-D", "0", "qrels.txt", "run.txt") == everything


def test_the_name_of_the_run_is_that_of_the_last_line(capsys, files):
    run = "q Q0 a 1 2 first\nq Q0 b 2 1 last_\u00a0one more fields\n  # a comment\n\n"
    assert lines(capsys, "-m", "runid", *files(q="q 0 a 1\n", r=run)) == [
        "runid                 \tall\tlast_\u00a0one"
    ]


def test_packed_and_piped_files(capsys, monkeypatch, tmp_path):
    expected = lines(capsys, "qrels.txt", "run.txt")
    packed = tmp_path / "run.gz"
    packed.write_bytes(gzip.compress((GOLDEN / "run.txt").read_bytes()))
    assert lines(capsys, "qrels.txt", str(packed)) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((GOLDEN / "run.txt").read_bytes())))
    assert lines(capsys, "qrels.txt", "-") == expected


GROUPS_WRONG = [
    (
        "prefs",
        "q u s a 1\nq u s b 0\nq u t a 0\n",
        "document 'a' is both relevant and not relevant for group 'u'",
    ),
    (
        "prefs",
        "q u s a 1\nq u s b 2\nq u t b 1\nq u t a 2\n",
        "preferences of group 'u' contradict each other",
    ),
    ("qrels_jg", "q u a 1\nq u a 0\n", "group 'u' judges document 'a' twice"),
]


@pytest.mark.parametrize(("kind", "judgments", "message"), GROUPS_WRONG)
def test_wrong_groups(capsys, files, kind, judgments, message):
    assert main(["-R", kind, *files(q=judgments, r="q Q0 a 1 2 t\nq Q0 b 2 1 t\n")]) == 2
    assert message in capsys.readouterr().err


def values(capsys, *arguments):
    found = (line.split("\t") for line in lines(capsys, *arguments))
    return {name.strip(): value for name, query, value in found if query == "all"}


def ranked(*grades, total):
    """A run of these grades (None: unjudged) and judgments with so many relevant documents in all."""
    run = "".join(f"q Q0 d{i} {i} {-i} t\n" for i in range(len(grades)))
    judged = [f"q 0 d{i} {grade}" for i, grade in enumerate(grades) if grade is not None]
    missed = total - sum(grade is not None and grade > 0 for grade in grades)
    return "\n".join([*judged, *(f"q 0 x{i} 1" for i in range(missed))]) + "\n", run


LAST_DIGITS = [
    ("set_map", [1, 1, 1, *[0] * 7], 16, "0.0563"),
    ("set_F", [1, 1, 1, 1, 1, 0], 58, "0.1563"),
    ("infAP", [None, -1, None, None, 1], 16, "0.0188"),
]


@pytest.mark.parametrize(("measure", "grades", "total", "expected"), LAST_DIGITS)
def test_the_last_digit_is_that_of_trec_eval(capsys, files, measure, grades, total, expected):
    """9/160, 10/64 and 3/160 lie between two printed numbers: the order of operations decides."""
    qrels, run = ranked(*grades, total=total)
    assert values(capsys, "-m", measure, *files(q=qrels, r=run)) == {measure: expected}


def test_rbp_counts_grades_out_of_the_highest_of_the_topic(capsys, files):
    """As a build of trec_eval 10 with its two variables initialised prints, whatever -l says; by hand: 0.1 (2/3 + 0.9² 1/3)."""
    qrels, run = "q 0 a 2\nq 0 b 0\nq 0 c 1\nq 0 missed 3\n", "q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n"
    for level in ("1", "2"):
        assert values(capsys, "-l", level, "-m", "rbp", *files(q=qrels, r=run)) == {"rbp": "0.0937"}


def test_a_relevance_level_of_0(capsys, files):
    qrels, run = "q 0 a 0\nq 0 b 1\n", "q Q0 x 1 3 t\nq Q0 a 2 2 t\n"
    found = values(capsys, "-l0", "-m", "num_rel", "-m", "map", "-m", "recip_rank", *files(q=qrels, r=run))
    assert found == {"num_rel": "2", "map": "0.2500", "recip_rank": "0.5000"}


def test_nothing_retrieved_by_depth_0(capsys, files):
    qrels, run = "q 0 a 1\n", "q Q0 a 1 3 t\n"
    found = values(capsys, "-M0", "-m", "num_ret", "-m", "map", "-m", "P.5", *files(q=qrels, r=run))
    assert found == {"num_ret": "0", "map": "0.0000", "P_5": "0.0000"}


def test_parameters_beyond_our_limits(capsys, files):
    qrels, run = "q 0 a 1\nq 0 b 1\n", "q Q0 a 1 3 t\nq Q0 x 2 2 t\n"
    found = values(capsys, "-m", "set_F.0", "-m", "iprec_at_recall.0.5,1.5", *files(q=qrels, r=run))
    assert found == {"set_F_0": "0.5000", "iprec_at_recall_0.50": "1.0000", "iprec_at_recall_1.50": "0.0000"}


def test_any_bytes_and_hexadecimal_scores(capfdbinary, tmp_path):
    """C reads bytes and strtod; ids in Latin-1 come out as they went in."""
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_bytes("qé 0 dé 1\n".encode("latin-1"))
    run.write_bytes("qé Q0 x 1 0x10 t\nqé Q0 dé 2 0x1.8p4 t\n".encode("latin-1"))
    assert main(["-q", "-n", "-m", "recip_rank", str(qrels), str(run)]) == 0
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == "recip_rank            \tqé\t1.0000\n".encode("latin-1")


def test_version_9_knows_no_comments(capsys, files):
    both = files(q="#q 0 a 1\nq 0 a 1\n", r="#q Q0 a 1 1 t\nq Q0 x 1 1 t\n")
    assert values(capsys, "-m", "map", *both) == {"map": "0.0000"}
    assert values(capsys, "--as", "9", "-m", "map", *both) == {"map": "0.5000"}


def test_no_query_in_both_files_is_status_7(capsys, files):
    assert main(files(q="q1 0 a 1\n", r="q2 Q0 a 1 1 t\n")) == 7
    assert "No queries with both results and relevance info" in capsys.readouterr().err


def test_control_characters_are_escaped_and_nothing_else(capfdbinary, tmp_path):
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_bytes(b"q\x1b[2J 0 d 1\n" + "ü\u200f 0 d 1\n".encode() + b"\xe9\x1b[1m 0 d 1\n")
    tag = b"t\x1b]0;owned\x07\xc2\x9b"
    lines = [b"q\x1b[2J Q0 d 1 1 ", "ü\u200f Q0 d 1 1 ".encode(), b"\xe9\x1b[1m Q0 d 1 1 "]
    run.write_bytes(b"".join(line + tag + b"\n" for line in lines))
    assert main(["-q", "-m", "runid", "-m", "recip_rank", str(qrels), str(run)]) == 0
    sys.stdout.flush()
    out = capfdbinary.readouterr().out
    assert b"runid                 \tall\tt\\x1b]0;owned\\x07\\x9b\n" in out
    assert b"recip_rank            \tq\\x1b[2J\t1.0000\n" in out
    assert "recip_rank            \tü\u200f\t1.0000\n".encode() in out
    assert b"recip_rank            \t\xe9\\x1b[1m\t1.0000\n" in out


def written(path, text):
    path.write_text(text)
    return str(path)


@pytest.fixture
def repeated(tmp_path):
    """Judgments, and a run that repeats c at rank 5."""
    rows = [("a", 3), ("b", 2), ("x", 1.5), ("c", 1), ("c", 0.5)]
    run = "".join(f"1 Q0 {doc} 1 {score} r\n" for doc, score in rows)
    return [written(tmp_path / "qrels", "1 0 a 1\n1 0 b 0\n1 0 c 2\n"), written(tmp_path / "run", run)]


def test_a_document_repeated_below_the_depth_does_not_matter(repeated, capsys):
    assert main(["-M", "4", "-m", "map", *repeated]) == 0
    assert capsys.readouterr().out.split() == ["map", "all", "0.7500"]
    assert main(["-M", "5", "-m", "map", *repeated]) == 2
    assert "document 'c' of query '1' appears twice. Remove one.\n" in capsys.readouterr().err


@pytest.mark.parametrize("depth", [[], ["-M", "5"]])
def test_messages_name_no_option_that_the_command_lacks(repeated, tmp_path, depth, capsys):
    assert main([*depth, "-m", "map", *repeated]) == 2
    assert capsys.readouterr().err.endswith("appears twice. Remove one.\n")
    nan = written(tmp_path / "nan", "1 Q0 a 1 nan r\n")
    assert main([*depth, "-m", "map", repeated[0], nan]) == 2
    assert capsys.readouterr().err.endswith("not a number. Remove it.\n")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [  # as trec_eval prints them
        ("-J -m 11pt_avg.0.5,0.8", "0.0000"),
        ("-J -m 11pt_avg", "-nan"),
        ("-m ndcg_rel.1=-1", "0.0000"),
        ("-m ndcg_rel.0=-1", "0.0000"),
    ],
)
def test_nothing_judged_was_retrieved(repeated, tmp_path, flags, expected, capsys):
    run = written(tmp_path / "unjudged", "1 Q0 x 1 2 r\n1 Q0 y 2 1 r\n")
    assert main([*flags.split(), repeated[0], run]) == 0
    assert capsys.readouterr().out.split()[2] == expected


def test_gains_below_zero_do_not_make_ndcg_rel_negative(repeated, capsys):
    assert main(["-M2", "-m", "ndcg_rel.1=-1", *repeated]) == 0
    assert capsys.readouterr().out.split()[2] == "0.0000"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--as 9 -l0 -m iprec_at_recall.0.5", "1.0000"),
        ("--as 9 -l0 -m 11pt_avg", "0.9318"),
        ("-l0 -N10 -m utility", "2.0000"),
    ],
)
def test_level_0_goes_with_every_measure(repeated, flags, expected, capsys):
    assert main([*flags.split(), "-M4", *repeated]) == 0
    assert capsys.readouterr().out.split()[2] == expected


@pytest.mark.parametrize(
    ("flags", "measure", "expected"),
    [
        ("-R qrels_prefs", "prefs_simp", "0.3333"),
        ("--as 9 -R qrels_prefs", "prefs_simp", "0.3333"),
        ("-R qrels_jg", "map_avgjg", "0.5833"),
    ],
)
def test_groups_look_no_further_than_the_depth(tmp_path, flags, measure, expected, capsys):
    """The values are trec_eval's; with -M4 it stops at the repeated document."""
    files = [
        written(tmp_path / "judgments", "q g a 2\nq g b 1\nq g c 0\n"),
        written(tmp_path / "run", "q Q0 c 0 3 t\nq Q0 a 0 2 t\nq Q0 b 0 1 t\nq Q0 a 0 0.5 t\n"),
    ]
    assert main(["-M3", *flags.split(), "-m", measure, *files]) == 0
    assert capsys.readouterr().out.split() == [measure, "all", expected]
    assert main(["-M4", *flags.split(), "-m", measure, *files]) == 2
    assert capsys.readouterr().err.endswith("document 'a' of query 'q' appears twice. Remove one.\n")


@pytest.mark.parametrize(("version", "possible"), [("9", "4"), ("10", "6")])
def test_version_9_keeps_levels_of_preferences_in_32_bits(tmp_path, version, possible, capsys):
    files = [
        written(tmp_path / "judgments", "q g a 0.1\nq g b 0.10000000001\nq g c 1e-50\nq g d 0\n"),
        written(tmp_path / "run", "q Q0 a 0 3 t\nq Q0 b 0 2 t\nq Q0 c 0 1 t\nq Q0 d 0 1.5 t\n"),
    ]
    assert main(["--as", version, "-R", "qrels_prefs", "-m", "prefs_num_prefs_poss", *files]) == 0
    assert capsys.readouterr().out.split() == ["prefs_num_prefs_poss", "all", possible]


def test_version_9_knows_no_comments_in_judgments_of_groups(tmp_path, capsys):
    files = [
        written(tmp_path / "judgments", "# g a 2\n# g b 1\n"),
        written(tmp_path / "run", "# Q0 b 0 2 t\n# Q0 a 0 1 t\n"),
    ]
    assert main(["--as", "9", "-q", "-n", "-R", "qrels_prefs", "-m", "prefs_simp", *files]) == 0
    assert capsys.readouterr().out.split() == ["prefs_simp", "#", "0.0000"]


def test_standard_input_that_repeats_a_document_below_the_depth(repeated, monkeypatch, capsys):
    def given_run():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(repeated[1]).read_bytes())))

    given_run()
    assert main(["-M", "4", "-m", "map", repeated[0], "-"]) == 0
    assert capsys.readouterr().out.split() == ["map", "all", "0.7500"]
    given_run()
    assert main(["-M", "5", "-m", "map", repeated[0], "-"]) == 2
    assert "appears twice" in capsys.readouterr().err
