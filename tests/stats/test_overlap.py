"""Rank-biased overlap against published values: rows of the test data of Corsi and Urbano's implementation (SIGIR 2024, MIT)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.errors import InputError

# x, y, p; then ext, min and max for the ties w, a and b.
PUBLISHED = """\
(i5 i9 i13 i15 i16 i19 i20) (i3 i8),i6 (i4 i18) i2 i7 i8 i17 i14 (i11 i12) i1,0.958074765324023,0.0816485573277354,0.0370062754797617,0.59493569657566,0.0808189832771587,0.0354671825076603,0.593396603603558,0.0813693619867344,0.0356267307324464,0.593556151828344
i13 (i1 i4 i5 i6),i3 i14 i11 (i10 i15) i12 (i6 i9) i4 i2,0.92238320668128,0.117578490431637,0.0763135264223449,0.53999366118093,0.114619469221414,0.0733545052121218,0.537945108035391,0.11474835409049,0.0734833900811979,0.538589532380772
i11 (i8 i21) (i2 i18) (i6 i16 i20) (i4 i10),i8 (i9 i20 i21) (i2 i3) i13 i1 i11 i14 i19,0.93912403977192,0.482369482292872,0.346394412736983,0.712103626756557,0.46852753894333,0.332552469387441,0.698261683407016,0.486650566878314,0.350675497322425,0.716384711341999
(i4 i7 i15) (i2 i11) i8 i18,i4 i8 i17 i11 (i2 i3 i5 i7 i9 i13 i14),0.955836875418683,0.601671359995661,0.310498723372055,0.820912519608734,0.584235464666522,0.295503371358027,0.805839323150565,0.632087129618464,0.322093781902212,0.833840285843908
(i3 i6) (i2 i7) i10,(i3 i6 i7 i10) (i1 i2),0.965413635276732,0.946064537517568,0.343706790399566,0.958770957517067,0.92051534467649,0.319428239558438,0.934492406675939,0.956844651806714,0.348953051936765,0.964017219054266
i9 (i7 i10 i11 i20) i17 i4 (i2 i15),(i12 i24) i8 (i13 i18) (i14 i21) i3 (i15 i16) (i4 i23) i1 i5 i17,0.925042675826437,0.112815118647638,0.0706978593698327,0.371480074655074,0.101033507362676,0.0674088329351841,0.368462905669962,0.101491625769712,0.0675839203187042,0.368785136040247
(i1 i3 i6 i11 i15) i17 (i5 i8),(i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12),0.966485585840186,0.647993254615828,0.307897712904381,0.853885398258049,0.56593642947334,0.250532359019861,0.795583602856033,0.658581961799868,0.315458973083789,0.861496368240528
(i5 i20) (i3 i8 i10 i11) i13,(i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12 i13),0.956020041658117,0.640387430188247,0.323506576285529,0.805416533963823,0.536528176569959,0.26353157133526,0.741980233847526,0.650587440650316,0.324674914963379,0.806877156763621
i21 i20 (i1 i16 i19) (i5 i10) i4,(i12 i17) (i2 i3 i8 i11) (i15 i18) (i6 i13) (i7 i14) i9,0.930074017489188,0,0,0.389142712252727,0,0,0.38977330351866,0,0,0.390116806797613
i2 i5 i3 (i1 i4),i5 i8 i2 (i3 i9),0.968922741966306,0.580287544332462,0.196704918554571,0.917454802645556,0.580994268838527,0.197411643060636,0.918161527151621,0.583518284931614,0.199935659153723,0.920685543244708
i6 i5 (i2 i4 i7),i4 i18 i2 (i1 i5 i6 i7 i9 i14 i15 i17) i13 i11,0.984365085297715,0.734068963712944,0.172811297273872,0.938656144671167,0.680057896807246,0.161475073718017,0.926540408667145,0.747819806375568,0.169727262584421,0.937170943665285
(i14 i19) (i5 i15) (i6 i7 i10 i11 i13),i13 (i6 i8) i18 (i9 i10 i11 i14) i4 i20 i16,0.907675996442932,0.384220625526628,0.279480819192743,0.527631109839527,0.327101444857736,0.222361638523851,0.470511929170635,0.337197548970436,0.232457742636552,0.480608033283335
"""


def ranking(text):
    """``a (b c) d`` as a list in which a set stands for ids that tie."""
    parts = re.findall(r"\(([^)]*)\)|(\w+)", text)
    return [set(tied.split()) if tied else single for tied, single in parts]


def scored(text):
    """The same as scores."""
    groups = [group if isinstance(group, set) else {group} for group in ranking(text)]
    return {item: -float(rank) for rank, group in enumerate(groups) for item in group}


@pytest.mark.parametrize("row", PUBLISHED.splitlines())
def test_published_values(row):
    x, y, p, *numbers = row.split(",")
    for i, ties in enumerate("wab"):
        expected = [float(number) for number in numbers[3 * i : 3 * i + 3]]
        for found in (
            rl.rbo(ranking(x), ranking(y), float(p), ties=ties),
            rl.rbo(ranking(y), ranking(x), float(p), ties=ties),
            rl.rbo(scored(x), scored(y), float(p), ties=ties),
        ):
            assert [found.ext, found.min, found.max] == pytest.approx(expected, abs=1e-9)
            assert found.residual == pytest.approx(expected[2] - expected[1], abs=1e-9)


def test_without_ties():
    assert rl.rbo("NHMA", "CGNA").ext == pytest.approx(0.3915, abs=1e-12)
    assert rl.rbo("NHMA", "CGNA").min == pytest.approx(0.194686, abs=5e-7)
    assert rl.rbo("NHMA", "CGNA").max == pytest.approx(0.706428, abs=5e-7)
    assert rl.rbo("NHMACFL", "CGNA").ext == pytest.approx(0.490384, abs=5e-7)
    assert rl.rbo([1, 2, 3], [1], 0.4).ext == pytest.approx(1, abs=1e-12)
    tied = [{"N", "H"}, "M", "A"], ["C", "G", {"N", "A"}]
    found = [rl.rbo(*tied, ties=ties).ext for ties in "wab"]
    assert found == pytest.approx([0.387643, 0.378, 0.379289], abs=5e-7)


RANKINGS = st.lists(st.integers(0, 12), min_size=1, max_size=10, unique=True)


@given(RANKINGS, RANKINGS, st.floats(0.05, 0.99))
def test_bounds_symmetry_and_identity(a, b, p):
    found = rl.rbo(a, b, p)
    assert found == rl.rbo(b, a, p)
    assert 0 <= found.min <= found.ext + 1e-12
    assert found.ext <= found.max + 1e-12 <= 1 + 1e-12
    assert rl.rbo(a, a, p).ext == pytest.approx(1)
    for ties in "ab":
        assert rl.rbo(a, b, p, ties=ties).ext == pytest.approx(found.ext)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], ["a"]), "a is empty"),
        ((["a"], {}), "b is empty"),
        ((["a", "a"], ["a"]), "a has an id twice"),
        ((["a"], [{"a", "b"}, "b"]), "b has an id twice"),
        (({"a"}, ["a"]), "a is a set; give a list of ids, best first"),
        ((["a"], {"a": float("nan")}), "b: the score of 'a' is NaN"),
        ((["a"], ["a"], 1), "p=1 is not allowed; it is a number between 0 and 1"),
        ((["a"], ["a"], "0.9"), "p='0.9' is not allowed"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        rl.rbo(*arguments)
    with pytest.raises(InputError, match="ties='x' is not allowed"):
        rl.rbo("a", "a", ties="x")
