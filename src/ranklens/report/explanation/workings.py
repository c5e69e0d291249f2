"""How each measure is explained: one :class:`Working` per measure, in the order of the registry.

To explain a new measure, add one record here. A measure without one, such as a plug-in's, is shown in the general form: ranks,
grades, and its value so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ranklens.arrays import FloatArray
from ranklens.judging.judged import Judged
from ranklens.metrics import Measure
from ranklens.metrics.formulas.gain import worth
from ranklens.report.explanation import columns
from ranklens.report.explanation.columns import Columns
from ranklens.report.explanation.cuts import ideally
from ranklens.report.explanation.terms import Params, parameters

Beside: TypeAlias = Literal["grade", "gain"] | None


@dataclass(frozen=True)
class Working:
    """How one measure is shown at work.

    ``formula`` is a template (:mod:`ranklens.report.explanation.terms`), or a function that makes one from the measure's parameters.
    ``columns`` are shown between the grade and the contribution. ``ideal`` says what the ideal ranking shows next to the actual
    one: grades, gains, or nothing if the measure has no such ideal; it may also depend on the parameters. With
    ``every_rank_counts``, the number of retrieved documents grows from rank to rank. For all other measures it is that of the
    whole ranking, so that each hit adds its share of the final value.
    """

    formula: str | Callable[[Params], str] = ""
    columns: Columns = field(default_factory=dict)
    ideal: Beside | Callable[[Params], Beside] = None
    every_rank_counts: bool = False

    def template(self, measure: Measure) -> str:
        """The formula of the measure with these parameters; empty in the general form."""
        return self.formula if isinstance(self.formula, str) else self.formula(parameters(measure))

    def ideal_ranking(self, measure: Measure, judged: Judged) -> IdealRanking | None:
        """The ideal ranking of the one query, if the measure has one."""
        params = parameters(measure)
        beside = self.ideal(params) if callable(self.ideal) else self.ideal
        if beside is None:
            return None
        if beside == "grade":
            best = ideally(judged)
            return IdealRanking(best, "ideal grade", best.hits.grade)
        best = ideally(judged, params["gain"], params["gains"])
        return IdealRanking(best, "ideal gain", worth(best.hits, params["gain"], params["gains"]).grade)


@dataclass(frozen=True)
class IdealRanking:
    """The ideal ranking of one query: what it is worth at each rank, under a heading."""

    judged: Judged
    heading: str
    worth: FloatArray


def working(measure: Measure) -> Working:
    """How the measure is shown at work.

    >>> from ranklens.registry import parse
    >>> working(parse("nDCG@10")).formula
    '{DCG} / {ideal DCG}'
    """
    return WORKINGS.get(measure.name, Working())


def _ideal_within_cutoff(params: Params) -> Beside:
    """Without a cutoff, the ideal ranking of a ratio over the retrieved documents is a matter of its length."""
    return "grade" if params["k"] is not None and params.get("over") != "retrieved" else None


def _ideal_by_grade(params: Params) -> Beside:
    """A table of gains may order documents in another way than grades do."""
    return None if params["gains"] else "grade"


def _out_of(params: Params) -> str:
    """What precision divides by."""
    if params["k"] is None:
        return "{retrieved}"
    return "min({k}, {retrieved})" if params.get("over") == "retrieved" else "{k}"


def _precision(params: Params) -> str:
    return "{relevant found|chunks} / " + _out_of(params)


def _recall(params: Params) -> str:
    capped = params["cap"] and params["k"]
    return "{relevant found} / " + ("min({all relevant}, {k})" if capped else "{all relevant}")


def _judged(params: Params) -> str:
    return "{judged found} / " + _out_of({**params, "over": "retrieved"})


def _over_relevant(what: str, cut: bool) -> str:
    return f"sum of {what} / " + ("min(all relevant, k)" if cut else "all relevant")


def _average_precision(params: Params) -> str:
    if params.get("interpolation") == "trapezoid":
        return _over_relevant("the mean precision just before and at each relevant document", cut=False)
    cut = params.get("norm") == "min" and bool(params["k"])
    return _over_relevant("the precision at each relevant document", cut)


def _q_measure(params: Params) -> str:
    return _over_relevant("the blended ratio at each relevant document", cut=bool(params["k"]))


WORKINGS: Mapping[str, Working] = {
    # precision
    "P": Working(_precision, columns.FOUND, ideal=_ideal_within_cutoff),
    "R": Working(_recall, columns.FOUND, ideal="grade"),
    "F": Working(
        "(1 + {beta²}) · {P} · {R} / ({beta²} · {P} + {R})", columns.FOUND, ideal=_ideal_within_cutoff
    ),
    "Success": Working("1 if a relevant document was found, else 0", columns.FOUND, ideal="grade"),
    "FullRecall": Working("1 if all relevant documents were found, else 0", columns.FOUND, ideal="grade"),
    "Rprec": Working("{found in the top R} / {all relevant}", columns.FOUND, ideal="grade"),
    "Rprec_mult": Working(columns=columns.FOUND),
    "SetP": Working("{relevant found|chunks} / {retrieved}", columns.FOUND),
    "SetR": Working("{relevant found} / {all relevant}", columns.FOUND),
    "SetF": Working("(1 + {beta}) · {SetP} · {SetR} / ({beta} · {SetP} + {SetR})", columns.FOUND),
    "SetRelP": Working("{relevant found|chunks} / min({retrieved}, {all relevant})", columns.FOUND),
    "SetAP": Working("{SetP} · {SetR}", columns.FOUND),
    "FallOut": Working("irrelevant found / all irrelevant"),
    # average_precision
    "AP": Working(_average_precision, columns.PRECISION, ideal="grade"),
    "LRAP": Working("sum of the precision at each relevant document / relevant found", columns.PRECISION),
    "gm_AP": Working(_average_precision, columns.PRECISION, ideal="grade"),
    "IPrec": Working(
        "the best precision from the given recall on", columns.RECALL_AND_PRECISION, ideal="grade"
    ),
    "AP11": Working(columns=columns.RECALL_AND_PRECISION, ideal="grade"),
    "GAP": Working(
        "sum of AP's precisions at each grade, weighted / the same over the ideal ranking", ideal="grade"
    ),
    "PRES": Working(
        "sum of 1 - irrelevant documents above / k at each relevant document / all relevant", columns.FOUND
    ),
    "infAP": Working(columns=columns.PRECISION),
    "yaap": Working(columns=columns.PRECISION),
    # gain
    "CG": Working("sum of gain", columns.GAIN, ideal="gain"),
    "nCG": Working("sum of gain / sum of ideal gain", columns.GAIN, ideal="gain"),
    "DCG": Working("sum of gain / discount", columns.DISCOUNTED_GAIN, ideal="gain"),
    "nDCG": Working("{DCG} / {ideal DCG}", columns.DISCOUNTED_GAIN, ideal="gain"),
    "IDCG": Working("sum of gain / discount over the ideal ranking"),
    "ndcg_rel": Working(columns=columns.GAIN),
    "Rndcg": Working(columns=columns.GAIN),
    "binG": Working(columns=columns.FOUND, ideal="grade"),
    "G": Working(columns=columns.GAIN),
    "ARP": Working("sum of gain · rank / sum of gain"),
    # cascade
    "RR": Working("1 / rank of the first relevant document", columns.FOUND, ideal="grade"),
    "ERR": Working("sum of satisfied · still looking / rank", columns.SATISFACTION, ideal="grade"),
    "nERR": Working("{ERR} / {ideal ERR}", columns.SATISFACTION, ideal="grade"),
    "iRBU": Working("sum of satisfied · still looking · p^rank", columns.SATISFACTION, ideal="grade"),
    "RBP": Working(
        "sum of the weights (1 - p) p^(rank - 1) of relevant documents", columns.WEIGHT, ideal="grade"
    ),
    # preference
    "Bpref": Working(
        "sum of 1 - min(irrelevant above, R) / min(irrelevant, R) over relevant documents / R",
        columns.IRRELEVANT_ABOVE,
        ideal="grade",
    ),
    "gm_Bpref": Working(columns=columns.IRRELEVANT_ABOVE, ideal="grade"),
    "AUC": Working("1 - pairs in the wrong order / pairs", columns.FOUND, every_rank_counts=True),
    "RankingLoss": Working("pairs in the wrong order / pairs", columns.FOUND, every_rank_counts=True),
    "OPA": Working("pairs in the right order / pairs with different grades"),
    "CoverageError": Working("the rank of the last relevant document", columns.FOUND),
    "Compat": Working(
        "rank-biased overlap with the closest ideal ranking / that of the ideal ranking with itself"
    ),
    # ntcir
    "Q": Working(_q_measure, columns.BLENDED_RATIO, ideal=_ideal_by_grade),
    "O": Working(
        "the blended ratio at the first relevant document", columns.BLENDED_RATIO, ideal=_ideal_by_grade
    ),
    "P_plus": Working(columns=columns.BLENDED_RATIO),
    "P_measure": Working(
        "the blended ratio at the first document of the best retrieved grade", columns.BLENDED_RATIO
    ),
    "NCU": Working("sum of the chance to stop · utility over relevant documents"),
    "EBR": Working("sum of satisfied · still looking · blended ratio", columns.BLENDED_RATIO, ideal="grade"),
    # counts
    "Judged": Working(_judged),
    "Unjudged": Working(every_rank_counts=True),
    "NumRet": Working(every_rank_counts=True),
    "NumRelRet": Working(columns=columns.FOUND),
    "HitCount": Working("{relevant found|chunks}", columns.FOUND),
    "utility": Working(columns=columns.FOUND, every_rank_counts=True),
    "relstring": Working(every_rank_counts=True),
    # fields
    "CMC": Working("1 if a relevant document was found, else 0", columns.FOUND, ideal="grade"),
    "MnR": Working("the rank of the first relevant document", columns.FOUND),
    "MedR": Working("the rank of the first relevant document", columns.FOUND),
    "AP_R": Working(
        "sum of the precision at each relevant document in the top R / all relevant",
        columns.PRECISION,
        ideal="grade",
    ),
    "Hole": Working("retrieved documents that are judged for no query / k", every_rank_counts=True),
    # user_models
    **dict.fromkeys(
        (
            "INST",
            "INSQ",
            "BPM",
            "SDCG",
            "TBG",
            "UMeasure",
            "IFT",
            "NERR8",
            "NERR9",
            "NERR10",
            "NERR11",
            "TrAP",
            "BPMD",
            "NPV",
            "SET",
            "P_CWL",
            "RR_CWL",
            "AP_CWL",
            "RBP_CWL",
        ),
        Working("what is expected of the user, by the chance to go on from each rank"),
    ),
    # pairs
    "Prefs": Working("preferences fulfilled / preferences"),
    # diversity
    "alpha_DCG": Working("sum of new subtopics / log2(rank + 1) / the same with all subtopics at every rank"),
    "alpha_nDCG": Working("sum of new subtopics / log2(rank + 1) / the same over the ideal ranking"),
    "ERR_IA": Working("sum of new subtopics / rank / the same with all subtopics at every rank"),
    "nERR_IA": Working("sum of new subtopics / rank / the same over the ideal ranking"),
    "NRBP": Working("(1 - (1 - alpha) beta) / subtopics · sum of new subtopics · beta^(rank - 1)"),
    "nNRBP": Working("sum of new subtopics · beta^(rank - 1) / the same over the ideal ranking"),
    "AP_IA": Working("mean AP of the subtopics"),
    "P_IA": Working("mean precision of the subtopics"),
    "StRecall": Working("subtopics covered / subtopics"),
    "I_rec": Working("subtopics covered / subtopics"),
    "D_nDCG": Working("nDCG over global gains"),
    "D_Q": Working("Q-measure over global gains"),
    "D_sharp_nDCG": Working("gamma · I_rec + (1 - gamma) · D_nDCG"),
    "D_sharp_Q": Working("gamma · I_rec + (1 - gamma) · D_Q"),
    "DIN_nDCG": Working(
        "sum of gain / log2(rank + 1), of navigational subtopics once / the same over the ideal ranking"
    ),
    "P_plus_Q": Working("mean of Q over informational and P_plus over navigational subtopics"),
    "RBU": Working("(1 - p) · sum of new satisfaction · p^(rank - 1) - effort · (1 - p^retrieved)"),
    "IA": Working("mean of the measure over the subtopics"),
    # evidence
    "AllRecall": Working("evidence sets found in full / evidence sets"),
    "AnyRecall": Working("evidence sets of which a document was found / evidence sets"),
    "EvidenceSuccess": Working("1 if an evidence set was found in full, else 0"),
    "EvidenceRprec": Working("the best share of an evidence set in as many ranks as it has documents"),
    "KILT_P": Working("evidence sets found in full, each at one rank / k"),
    "KILT_R": Working("evidence sets found in full, each at one rank / evidence sets"),
    "KILT_Success": Working("1 if an evidence set was found in full, each at one rank, else 0"),
    # sampled
    "xinfAP": Working(
        "sum of the estimated precision at each relevant document · what it stands for / relevant, as estimated"
    ),
    "infNDCG": Working("estimated DCG / DCG of the estimated ideal ranking"),
    "statAP": Working(
        "sum of the estimated precision at each relevant document / its probability / relevant, as estimated"
    ),
    # exposure
    "ILD": Working("mean distance of the pairs of documents"),
    "uRBP": Working("(1 - p) · sum of p^(rank - 1) · understandability over relevant documents"),
    "AWRF": Working("1 - distance of the groups' shares of attention from their target"),
    "EE_D": Working("sum of the squared exposures of the groups"),
    "EE_R": Working("sum of exposure · target over the groups"),
    "EE_L": Working("sum of (exposure - target)² over the groups"),
    # recommendation
    "Novelty": Working("mean novelty of the recommended items"),
    "Popularity": Working("mean uses of the recommended items"),
    "APLT": Working("recommended items of the long tail / recommended items"),
    "ACLT": Working("recommended items of the long tail"),
    "Serendipity": Working(
        "sum of max(chance by rank - chance by popularity, 0) over wanted items / recommended items"
    ),
    "pAUC": Working("wanted items above the first k others / (k · wanted items)"),
    "PAP": Working("the first k wanted items above the first k others / (k · min(k, wanted items))"),
    "MCC": Working("correlation of recommended and wanted over all items"),
    "SufficientReco": Working("1 if there are at least k items, else 0"),
    "CoveredUsers": Working("1 if there is any item, else 0"),
    "Calibration": Working("sum of p ln(p / q) over the groups"),
}
