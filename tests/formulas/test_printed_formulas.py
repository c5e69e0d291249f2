"""The formulas of docs/measures.md, written down again as a reader would compute them, give the values of evaluate.

Written by hand from the LaTeX and the notation at the top of the page, with loops and no NumPy. Where a row needs something that the
page does not say, the page is wrong.
"""

from itertools import pairwise, permutations, product
from math import exp, log, log2, sqrt
from random import Random
from statistics import median

import pytest

import ranklens as rl
from ranklens import metrics as registry
from ranklens.metrics import definitions

DOCS = list("abcdefghij")
pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")


class Ranked:
    """The notation of the page, for one query."""

    def __init__(self, grades, ranking, k=None, top=1, elsewhere=()):
        self.grades, self.ranking, self.cutoff, self.elsewhere = grades, ranking, k, elsewhere
        self.n, self.top = len(ranking), top
        self.k = self.n if k is None else k
        self.ideal = sorted((g for g in grades.values() if g > 0), reverse=True)
        self.R = sum(1 for g in grades.values() if g >= 1)
        self.N = sum(1 for g in grades.values() if g == 0)
        self.end = len(self.ideal) if k is None else k  # of sums over the ideal ranking

    def grade(self, i):
        return self.grades.get(self.ranking[i - 1]) if 1 <= i <= self.n else None

    def judged(self, i):
        return (self.grade(i) is not None) and self.grade(i) >= 0

    def g(self, i):
        return self.grade(i) if self.judged(i) else 0

    def r(self, i):
        return int(self.g(i) >= 1)

    def gs(self, i):  # γ*, the gain at rank i of the ideal ranking
        return self.ideal[i - 1] if 1 <= i <= len(self.ideal) else 0

    def P(self, i):
        return over(add(i, self.r), i)

    def found(self, i):  # R_i, the recall at rank i
        return over(add(i, self.r), self.R)

    def s(self, i):
        return (2 ** self.g(i) - 1) / 2**self.top if self.g(i) > 0 else 0

    def BR(self, i, beta=1):
        return over(add(i, self.r) + beta * add(i, self.g), i + beta * add(i, self.gs))

    def ndcg(self, i):
        return over(dcg(i, self.g), dcg(i, self.gs))


def add(last, value):
    return sum(value(i) for i in range(1, last + 1))


def over(part, whole):
    return part / whole if whole else 0.0


def times(values):
    out = 1.0
    for value in values:
        out *= value
    return out


def dcg(last, gain):
    return add(last, lambda i: gain(i) / log2(i + 1))


def unsatisfied(s, i):
    return times(1 - s(j) for j in range(1, i))


def err(last, s):
    return add(last, lambda i: s(i) / i * unsatisfied(s, i))


def ideal_s(q):
    return lambda i: (2 ** q.gs(i) - 1) / 2**q.top


def first(ranks, otherwise=0):
    return min(ranks, default=otherwise)


def hits(q, last=None):
    return [i for i in range(1, (last or q.n) + 1) if q.r(i)]


def iprec(q, recall):
    needed = int(recall * q.R + 0.5)
    return max((q.P(i) for i in range(1, q.n + 1) if add(i, q.r) >= needed), default=0)


def best_rank(q):
    best = max((q.g(i) for i in range(1, q.n + 1)), default=0)
    return first([i for i in range(1, q.n + 1) if q.g(i) == best])


def inferred(q):
    def at(i):
        pool = sum(1 for j in range(1, i) if q.grade(j) is not None)
        rel = add(i - 1, q.r)
        nonrel = sum(1 for j in range(1, i) if q.judged(j) and not q.r(j))
        return q.r(i) * (1 / i + pool / i * (rel + 1e-5) / (rel + nonrel + 2e-5))

    return over(add(q.n, at), q.R)


def graded_ap(q, thresholds=(1, 1, 1)):
    found = best = 0
    for j, share in enumerate(thresholds, 1):
        kept = Ranked({d: int(g >= j) for d, g in q.grades.items()}, q.ranking)
        found += share * sum(kept.P(i) for i in hits(kept))
        best += share * kept.R
    return over(found, best)


def pres(q):
    if not q.R:
        return 0
    found = hits(q, min(q.k, q.n))
    ranks = found + [q.k + q.R - missed for missed in range(q.R - len(found))]
    return 1 - (sum(ranks) / q.R - (q.R + 1) / 2) / q.k


def rndcg(q):
    levels = [i for i in range(1, len(q.ideal) + 1) if q.gs(i) != q.gs(i + 1)]
    if q.ideal and q.n > len(q.ideal) + 1:
        levels.append(q.n)
    return over(sum(q.ndcg(i) for i in levels), len(levels))


def ndcg_rel(q):
    found = [i for i in range(1, q.n + 1) if q.g(i) > 0]
    whole = over(dcg(q.n, q.g), dcg(len(q.ideal), q.gs))
    return over(sum(q.ndcg(i) for i in found) + (len(q.ideal) - len(found)) * whole, len(q.ideal))


def bpref(q):
    def at(i):
        above = sum(1 for j in range(1, i) if q.judged(j) and not q.r(j))
        return q.r(i) * (1 - over(min(q.R, above), min(q.R, q.N)))

    return over(add(q.n, at), q.R)


def pairs(q, right):
    last = min(q.k, q.n)
    return sum(1 for i, j in product(range(1, last + 1), repeat=2) if right(i, j))


def auc(q):
    right = pairs(q, lambda i, j: i < j and q.r(i) and not q.r(j))
    every = pairs(q, lambda i, j: q.r(i) and not q.r(j))
    return right / every if every else float(bool(hits(q, min(q.k, q.n))))


def ranking_loss(q):
    wrong = pairs(q, lambda i, j: j < i and q.r(i) and not q.r(j))
    return over(wrong, pairs(q, lambda i, j: q.r(i) and not q.r(j)))


def opa(q):
    def differ(i, j):
        return q.judged(i) and q.judged(j) and i < j and q.g(i) != q.g(j)

    return over(pairs(q, lambda i, j: differ(i, j) and q.g(i) > q.g(j)), pairs(q, differ))


def compat(q, p=0.95):
    relevant = sorted((d for d, g in q.grades.items() if g > 0), key=lambda d: -q.grades[d])
    deep = max(q.n, len(relevant))

    def overlap(ideal):
        return add(deep, lambda i: p ** (i - 1) * len({*q.ranking[:i]} & {*ideal[:i]}) / i)

    orders = [o for o in permutations(relevant) if all(q.grades[a] >= q.grades[b] for a, b in pairwise(o))]
    return over(max(overlap(o) for o in orders), add(deep, lambda i: p ** (i - 1) * len(relevant[:i]) / i))


def ncu(q, stop="u", utility="BR"):
    chance = {
        "u": lambda i: over(q.r(i), q.R),
        "gu": lambda i: over(q.g(i), sum(q.ideal)),
        "rb": lambda i: q.r(i) * over(0.95 ** (add(i, q.r) - 1) * 0.05, 1 - 0.95**q.R),
    }[stop]
    return add(q.n, lambda i: chance(i) * (q.BR(i) if utility == "BR" else q.P(i)))


def misses(q, i):
    return add(i - 1, lambda j: 1 - q.r(j))


FORMULAS = {
    "P": lambda q: over(add(q.k, q.r), q.k),
    "R": lambda q: over(add(q.k, q.r), q.R),
    "F": lambda q, beta=1: over((1 + beta**2) * q.P(q.k) * q.found(q.k), beta**2 * q.P(q.k) + q.found(q.k)),
    "Success": lambda q: max((q.r(i) for i in range(1, q.k + 1)), default=0),
    "FullRecall": lambda q: int(q.found(q.k) == 1),
    "Rprec": lambda q: over(add(q.R, q.r), q.R),
    "Rprec_mult": lambda q, x=1: over(add(int(x * q.R + 0.9), q.r), int(x * q.R + 0.9)),
    "SetP": lambda q: over(add(q.n, q.r), q.n),
    "SetR": lambda q: over(add(q.n, q.r), q.R),
    "SetF": lambda q, beta=1: over((1 + beta) * q.P(q.n) * q.found(q.n), beta * q.P(q.n) + q.found(q.n)),
    "SetRelP": lambda q: over(add(q.n, q.r), min(q.n, q.R)),
    "SetAP": lambda q: q.P(q.n) * q.found(q.n),
    "FallOut": lambda q: over(sum(1 for i in range(1, q.k + 1) if q.judged(i) and not q.r(i)), q.N),
    "AP": lambda q: over(add(q.k, lambda i: q.r(i) * q.P(i)), q.R),
    "LRAP": lambda q: over(add(q.k, lambda i: q.r(i) * q.P(i)), add(q.k, q.r)),
    "IPrec": iprec,
    "AP11": lambda q: sum(iprec(q, level / 10) for level in range(11)) / 11,
    "GAP": graded_ap,
    "PRES": pres,
    "infAP": inferred,
    "yaap": lambda q: log((1 + add(q.n, lambda i: q.r(i) * q.P(i))) / (1 + q.R - add(q.n, lambda i: q.r(i) * q.P(i)))),
    "CG": lambda q: add(q.k, q.g),
    "nCG": lambda q: over(add(q.k, q.g), add(q.end, q.gs)),
    "DCG": lambda q: dcg(q.k, q.g),
    "nDCG": lambda q: over(dcg(q.k, q.g), dcg(q.end, q.gs)),
    "IDCG": lambda q: dcg(q.end, q.gs),
    "ndcg_rel": ndcg_rel,
    "Rndcg": rndcg,
    "binG": lambda q: over(add(q.n, lambda i: q.r(i) / log2(2 + misses(q, i))), q.R),
    "G": lambda q: over(
        add(q.n, lambda i: q.g(i) / log2(2 + add(i, lambda j: max(q.gs(j), 1) - q.g(j)))), sum(q.ideal)
    ),
    "ARP": lambda q: over(add(q.k, lambda i: q.g(i) * i), add(q.k, q.g)),
    "RR": lambda q: max((q.r(i) / i for i in range(1, q.k + 1)), default=0),
    "ERR": lambda q: err(q.k, q.s),
    "nERR": lambda q: over(err(q.k, q.s), err(q.end, ideal_s(q))),
    "iRBU": lambda q, p=0.99: add(q.k, lambda i: p**i * q.s(i) * unsatisfied(q.s, i)),
    "RBP": lambda q, p=0.8: (1 - p) * add(q.k, lambda i: q.r(i) * p ** (i - 1)),
    "RBPres": lambda q, p=0.8: (
        (1 - p) * add(q.n, lambda i: p ** (i - 1) * (not q.judged(i))) + p**q.n
        if any(not q.judged(i) for i in range(1, q.n + 1))
        else 0
    ),
    "Bpref": bpref,
    "AUC": auc,
    "RankingLoss": ranking_loss,
    "OPA": opa,
    "CoverageError": lambda q: max(hits(q), default=0),
    "Compat": compat,
    "Q": lambda q: over(
        add(q.k, lambda i: q.r(i) * q.BR(i)), q.R if q.cutoff is None else min(q.R, q.k)
    ),
    "O": lambda q: q.BR(first(hits(q))) if hits(q) else 0,
    "P_plus": lambda q: over(add(best_rank(q), lambda i: q.r(i) * q.BR(i)), add(best_rank(q), q.r)),
    "P_measure": lambda q: q.BR(best_rank(q)),
    "NCU": ncu,
    "EBR": lambda q: add(q.k, lambda i: q.BR(i) * q.s(i) * unsatisfied(q.s, i)),
    "Judged": lambda q: over(sum(1 for i in range(1, q.k + 1) if q.judged(i)), min(q.k, q.n)),
    "Unjudged": lambda q: over(sum(1 for i in range(1, min(q.k, q.n) + 1) if not q.judged(i)), q.k),
    "HitCount": lambda q: add(q.k, q.r),
    "utility": lambda q, a=1, b=-1, c=0, d=0, docs=0: (
        a * add(q.n, q.r) + b * misses(q, q.n + 1) + c * (q.R - add(q.n, q.r)) + d * (docs - q.R - misses(q, q.n + 1))
    ),
    "CMC": lambda q: max((q.r(i) for i in range(1, (q.cutoff or 1) + 1)), default=0),
    "MnR": lambda q: first(hits(q), q.n + 1),
    "AP_R": lambda q: over(add(q.R, lambda i: q.r(i) * q.P(i)), q.R),
    "Hole": lambda q: over(sum(1 for i in range(1, min(q.k, q.n) + 1) if q.ranking[i - 1] not in q.elsewhere), q.k),
    "pAUC": lambda q: over(sum(max(1 - misses(q, i) / q.k, 0) for i in hits(q)), q.R),
    "PAP": lambda q: over(
        sum(max(1 - misses(q, i) / q.k, 0) for i in hits(q) if add(i, q.r) <= q.k), min(q.k, q.R)
    ),
    "SufficientReco": lambda q: int(q.n >= q.k),
    "CoveredUsers": lambda q: int(q.n > 0),
}  # fmt: skip

# Over all queries.
WHOLE = {
    "gm_AP": lambda qs: exp(sum(log(max(FORMULAS["AP"](q), 1e-5)) for q in qs) / len(qs)),
    "gm_Bpref": lambda qs: exp(sum(log(max(bpref(q), 1e-5)) for q in qs) / len(qs)),
    "MedR": lambda qs: median(FORMULAS["MnR"](q) for q in qs),
    "NumQ": len,
    "NumRet": lambda qs: sum(q.n for q in qs),
    "NumRel": lambda qs: sum(q.R for q in qs),
    "NumRelRet": lambda qs: sum(add(q.n, q.r) for q in qs),
    "num_nonrel_judged_ret": lambda qs: sum(1 for q in qs for i in range(1, q.n + 1) if q.judged(i) and not q.r(i)),
}  # fmt: skip


class Attentive(Ranked):
    """A user model: gains between 0 and 1, down to rank max_n."""

    deep = 30

    def g(self, i):
        return min(super().g(i) / self.top, 1)

    def G(self, i):
        return add(i, self.g)

    def weighed(self, C):
        W = [times(C(j) for j in range(1, i)) for i in range(1, self.deep + 1)]
        return sum(w * self.g(i) for i, w in enumerate(W, 1)) / sum(W)

    def shift(self, i, m=0.5):
        return add(i - 1, lambda j: self.g(j) - m)


def patience(i, T=1):
    return ((i + 2 * T - 1) / (i + 2 * T)) ** 2


def inst(q, T=1):
    def C(i):
        left = T - q.G(i)
        return ((i + T + left - 1) / (i + T + left)) ** 2

    return q.weighed(C)


def u_measure(q, L=1000):
    weight = [max(0, 1 - (i - 1) / L) for i in range(1, q.deep)]
    return sum(w * q.g(i) for i, w in enumerate(weight, 1)) / sum(weight)


def forager(q, T=2.0, b1=0.9, R1=1.0, A=0.2, b2=0.9, R2=1.0):
    def C(i):
        goal = b1 * exp((T - q.G(i)) * R1)
        return goal / (1 + goal) / (1 + b2 * exp((A - q.G(i) / i) * R2))

    return q.weighed(C)


def still_to_come(q, i):
    return sum(q.g(j) / j for j in range(i, q.deep + 1))


USERS = {
    "INST": inst,
    "INSQ": lambda q, T=1: q.weighed(lambda i: patience(i, T)),
    "BPM": lambda q, T=1: q.weighed(lambda i: q.G(i) < T and i < q.k),
    "SDCG": lambda q: dcg(q.k, q.g) / dcg(q.k, lambda i: 1),
    "TBG": lambda q, halflife=224: q.weighed(lambda i: 2 ** (-1 / halflife)),
    "UMeasure": u_measure,
    "IFT": forager,
    "NERR8": lambda q: q.weighed(lambda i: (1 - q.g(i)) * (i < q.k)),
    "NERR9": lambda q: q.weighed(lambda i: (1 - q.g(i)) * i / (i + 1) * (i < q.k)),
    "NERR10": lambda q, p=0.9: q.weighed(lambda i: p * (1 - q.g(i))),
    "NERR11": lambda q, T=1: q.weighed(lambda i: patience(i, T) * (1 - q.g(i))),
    "TrAP": lambda q: over(add(q.deep, lambda i: q.g(i) / i * q.G(i)), len(q.ideal)),
    "BPMD": lambda q, T=1, hb=1, hc=1: q.weighed(lambda i: q.G(i) < T + hb * q.shift(i) and i < q.k + hc * q.shift(i)),
    "NPV": lambda q, rate=0.1: q.weighed(lambda i: 1 / (1 + rate)),
    "SET": lambda q, beta=0.5: q.weighed(lambda i: ((i + 2) ** beta - (i + 1) ** beta) / ((i + 1) ** beta - i**beta) * (i < q.k)),
    "P_CWL": lambda q: q.weighed(lambda i: i < q.k),
    "RR_CWL": lambda q: q.weighed(lambda i: q.G(i) == 0),
    "AP_CWL": lambda q: q.weighed(lambda i: over(still_to_come(q, i + 1), still_to_come(q, i))),
    "RBP_CWL": lambda q, p=0.8: q.weighed(lambda i: p),
}  # fmt: skip


class Diverse:
    """A query with subtopics: ``{subtopic: {document: grade}}``, each with its probability."""

    def __init__(self, grades, chance, ranking, k=None):
        self.grades, self.ranking, self.cutoff = grades, ranking, k
        self.n, self.k, self.S = len(ranking), len(ranking) if k is None else k, len(grades)
        self.chance = chance
        self.docs = {doc for some in grades.values() for doc in some}
        self.each = {s: Ranked(some, ranking, k) for s, some in grades.items()}
        self.gains = sorted((self.global_gain(doc) for doc in self.docs), reverse=True)
        self.end = len(self.docs) if k is None else k

    def J(self, i, ranking, alpha=0.5):
        def seen(s):
            return sum(1 for doc in ranking[: i - 1] if self.grades[s].get(doc, 0) >= 1)

        here = ranking[i - 1] if i <= len(ranking) else None
        return sum(c * (self.grades[s].get(here, 0) >= 1) * (1 - alpha) ** seen(s) for s, c in self.chance.items())  # fmt: skip

    def ideal(self, alpha=0.5):
        """At each rank the document that adds most, of equal ones the last by id."""
        ranking = []
        while len(ranking) < len(self.docs):
            left = sorted(self.docs.difference(ranking), reverse=True)
            ranking.append(max(left, key=lambda doc: self.J(len(ranking) + 1, [*ranking, doc], alpha)))
        return ranking

    def gain(self, discount, ranking=None, alpha=0.5):
        last = self.k if ranking is None else self.end
        given = self.ranking if ranking is None else ranking
        return add(last, lambda i: self.J(i, given, alpha) * discount(i))

    def share(self, discount, alpha=0.5):
        return over(self.gain(discount, None, alpha), self.gain(discount, self.ideal(alpha), alpha))

    def all_of(self, discount, alpha=0.5):
        return self.gain(discount, None, alpha) / add(max(self.k, 1), lambda i: (1 - alpha) ** (i - 1) * discount(i))  # fmt: skip

    def mean(self, value):
        return sum(self.chance[s] * value(q) for s, q in self.each.items())

    def global_gain(self, doc):
        return sum(c * self.grades[s].get(doc, 0) for s, c in self.chance.items())

    @property
    def overall(self):
        gains = {doc: self.global_gain(doc) for doc in self.docs}
        return _Global(gains, self.ranking, self.cutoff)

    @property
    def covered(self):
        return over(sum(1 for q in self.each.values() if hits(q, self.k)), self.S)


class _Global(Ranked):
    """A document is relevant if its global gain is above 0."""

    def __init__(self, grades, ranking, k):
        super().__init__(grades, ranking, k)
        self.R = len(self.ideal)

    def r(self, i):
        return int(self.g(i) > 0)


def discounted(i):
    return 1 / log2(i + 1)


def reciprocal(i):
    return 1 / i


def rbu(q, p=0.8, effort=0.03):
    def sigma(s, i):
        return (2 ** q.each[s].g(i) - 1) / 2 ** max(q.grades[s].values())

    def new(i):
        return sum(c * sigma(s, i) * times(1 - sigma(s, j) for j in range(1, i)) for s, c in q.chance.items())

    return (1 - p) * add(min(q.k, len(q.ranking)), lambda i: p ** (i - 1) * (new(i) - effort))


NAVIGATIONAL = "s"  # the subtopic that one document satisfies, in every query


def din_ndcg(q):
    def counts(s, i):
        return s != NAVIGATIONAL or not any(q.each[s].g(j) > 0 for j in range(1, i))

    def gain(i):
        return sum(c * q.each[s].g(i) * counts(s, i) for s, c in q.chance.items()) / log2(i + 1)

    return over(add(q.k, gain), sum(g / log2(i + 1) for i, g in enumerate(q.gains[: q.end], 1)))


SUBTOPICS = {
    "alpha_DCG": lambda q, alpha=0.5: q.all_of(discounted, alpha),
    "alpha_nDCG": lambda q, alpha=0.5: q.share(discounted, alpha),
    "ERR_IA": lambda q, alpha=0.5: q.all_of(reciprocal, alpha),
    "nERR_IA": lambda q, alpha=0.5: q.share(reciprocal, alpha),
    "NRBP": lambda q, alpha=0.5, beta=0.5: (1 - (1 - alpha) * beta) * q.gain(lambda i: beta ** (i - 1), None, alpha),
    "nNRBP": lambda q, alpha=0.5, beta=0.5: q.share(lambda i: beta ** (i - 1), alpha),
    "AP_IA": lambda q: q.mean(FORMULAS["AP"]),
    "P_IA": lambda q: q.mean(FORMULAS["P"]),
    "StRecall": lambda q: q.covered,
    "I_rec": lambda q: q.covered,
    "D_nDCG": lambda q: FORMULAS["nDCG"](q.overall),
    "D_Q": lambda q: FORMULAS["Q"](q.overall),
    "D_sharp_nDCG": lambda q, gamma=0.5: gamma * q.covered + (1 - gamma) * FORMULAS["nDCG"](q.overall),
    "D_sharp_Q": lambda q, gamma=0.5: gamma * q.covered + (1 - gamma) * FORMULAS["Q"](q.overall),
    "RBU": rbu,
    "DIN_nDCG": din_ndcg,
    "P_plus_Q": lambda q: sum(
        c * (FORMULAS["P_plus"](Ranked(q.grades[s], q.ranking[: q.k])) if s == NAVIGATIONAL else FORMULAS["Q"](q.each[s]))
        for s, c in q.chance.items()
    ),
    "IA": lambda q, of: q.mean(FORMULAS[str(of)]),
}  # fmt: skip


class Sets:
    """A query with evidence sets, which share no document."""

    def __init__(self, sets, ranking, k=None):
        self.sets, self.ranking, self.cutoff = sets, ranking, k
        self.k = len(ranking) if k is None else k

    def complete(self):
        return [one for one in self.sets if one <= {*self.ranking[: self.k]}]

    @property
    def collapsed(self):
        """The ranking with each set at the place of its last retrieved member, as one entry."""
        out = []
        for i, doc in enumerate(self.ranking):
            own = next((one for one in self.sets if doc in one), None)
            if own is None:
                out.append(doc)
            elif not own & {*self.ranking[i + 1 :]}:
                out.append(own if own <= {*self.ranking} else None)
        return out

    def answers(self, last):
        return sum(1 for one in self.collapsed[:last] if isinstance(one, frozenset))


EVIDENCE = {
    "AllRecall": lambda q: over(len(q.complete()), len(q.sets)),
    "AnyRecall": lambda q: over(sum(1 for one in q.sets if one & {*q.ranking[: q.k]}), len(q.sets)),
    "EvidenceSuccess": lambda q: int(bool(q.complete())),
    "EvidenceRprec": lambda q: max(len(one & {*q.ranking[: len(one)]}) / len(one) for one in q.sets),
    "KILT_P": lambda q: over(q.answers(q.k), len(q.collapsed) if q.cutoff is None else q.k),
    "KILT_R": lambda q: over(q.answers(q.k), len(q.sets)),
    "KILT_Success": lambda q: int(q.answers(q.k) > 0),
}


class Shown(Ranked):
    """A query whose documents have properties."""

    def __init__(self, grades, ranking, properties, k=None):
        super().__init__(grades, ranking, k)
        self.properties = properties
        self.groups = sorted({one["group"] for one in properties.values()})

    def shown(self, key):
        return [self.properties[doc][key] for doc in self.ranking[: self.k]]

    def exposure(self, group):
        return sum(1 / log2(max(i, 2)) for i, g in enumerate(self.shown("group"), 1) if g == group)

    @property
    def exposures(self):
        """Of each group, and its target."""
        found = [self.exposure(group) for group in self.groups]
        return [(one, sum(found) / len(self.groups)) for one in found]


def ild(q):
    known = q.shown("features")
    m = len(known)
    apart = sum(cosine_distance(known[i], known[j]) for j in range(m) for i in range(j))
    return over(2 * apart, m * (m - 1))


def cosine_distance(a, b):
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / sqrt(sum(x * x for x in a) * sum(y * y for y in b))  # fmt: skip


def jensen_shannon(pairs_):
    e, t = (sum(side) for side in zip(*pairs_, strict=True))
    shares_ = [(over(a, e), over(b, t)) for a, b in pairs_]

    def part(a, b):
        return a * log(2 * a / (a + b)) if a else 0

    return sum(part(a, b) + part(b, a) for a, b in shares_) / 2


PROPERTIES = {
    "ILD": ild,
    "uRBP": lambda q, p=0.8: (1 - p) * sum(p ** (i - 1) * q.r(i) * u for i, u in enumerate(q.shown("understandability"), 1)),
    "AWRF": lambda q: 1 - jensen_shannon(q.exposures),
    "EE_D": lambda q: sum(e**2 for e, _ in q.exposures),
    "EE_R": lambda q: sum(e * t for e, t in q.exposures),
    "EE_L": lambda q: sum((e - t) ** 2 for e, t in q.exposures),
}  # fmt: skip


class Pool(Ranked):
    """A pool of which a sample was judged; a grade below 0 is pooled but not sampled."""

    def __init__(self, grades, ranking, strata, chance, k=None):
        super().__init__(grades, ranking, k)
        self.strata, self.chance = strata, chance
        self.R_hat = sum(self.stands_for(doc) for doc, g in grades.items() if g >= 1)

    def stands_for(self, doc):
        return over(self.size(doc), self.size(doc, sampled=True))

    def size(self, doc, *, sampled=False):
        here = [d for d, s in self.strata.items() if s == self.strata[doc]]
        return sum(1 for d in here if not sampled or self.grades[d] >= 0)

    def above(self, i, s, least):
        """Documents of a stratum above rank i, with this grade or higher."""
        docs = [d for d in self.ranking[: i - 1] if self.strata.get(d) == s]
        return sum(1 for d in docs if self.grades[d] >= least)


def xinf_ap(q):
    def precision(i):
        parts = [(q.above(i, s, -1), q.above(i, s, 0), q.above(i, s, 1)) for s in {*q.strata.values()}]
        return (1 + sum(m * (rho + 1e-5) / (nu + 3e-5) for m, nu, rho in parts)) / i

    return over(sum(q.stands_for(q.ranking[i - 1]) * precision(i) for i in hits(q)), q.R_hat)


def inf_ndcg(q):
    def gained(s):
        ranks = [i for i in range(1, min(q.k, q.n) + 1) if q.strata.get(q.ranking[i - 1]) == s]
        last = min(q.k, q.n) + 1
        return over(q.above(last, s, -1), q.above(last, s, 0)) * sum(
            max(q.g(i), 0) / log2(i + 1) for i in ranks
        )

    ideal = []
    for grade in sorted({g for g in q.grades.values() if g > 0}, reverse=True):
        many = sum(q.stands_for(d) for d, g in q.grades.items() if g == grade)
        ideal += [grade] * int(many + 0.5)
    last = len(ideal) if q.cutoff is None else min(q.k, len(ideal))
    return over(sum(map(gained, {*q.strata.values()})), dcg(last, lambda i: ideal[i - 1]))


def stat_ap(q):
    def weight(i):
        return over(q.r(i), q.chance[q.ranking[i - 1]]) if q.r(i) else 0

    relevant = sum(1 / q.chance[d] for d, g in q.grades.items() if g >= 1)
    return over(add(q.n, lambda i: weight(i) / i * (1 + add(i - 1, weight))), relevant)


def horvitz_thompson(q, of):
    def added(f):
        return add(q.n, lambda i: f(i) / q.chance[q.ranking[i - 1]] if q.ranking[i - 1] in q.chance else 0)

    if of == "DCG":
        return added(lambda i: max(q.g(i), 0) / log2(i + 1))
    return over(added(q.r), sum(1 / q.chance[d] for d, g in q.grades.items() if g >= 1))


SAMPLES = {"xinfAP": xinf_ap, "infNDCG": inf_ndcg, "statAP": stat_ap, "HT": horvitz_thompson}


class Recommended(Ranked):
    """What a user is recommended, wants and has used."""

    def __init__(self, wanted, ranking, train, user, groups, k=None):
        super().__init__(wanted, ranking, 10 if k is None else k)
        self.train, self.groups, self.past = train, groups, train[user]
        self.shown = ranking[: self.k]
        self.items = sorted({item for some in train.values() for item in some})
        uses = sorted({self.uses(item) for item in self.items}, reverse=True)
        self.place = {item: uses.index(self.uses(item)) + 1 for item in self.items}

    def uses(self, item):
        return sum(1 for some in self.train.values() if item in some)

    def mean(self, value):
        return over(sum(map(value, self.shown)), len(self.shown))

    def by_rank(self, i):
        return (len(self.items) + 1 - i) / len(self.items)

    def tail(self, item):
        """Outside of the most popular items that have 80% of all uses."""
        order = sorted(self.items, key=lambda one: (-self.uses(one), one))
        head, so_far = set(), 0
        for one in order:
            if so_far >= 0.8 * sum(map(self.uses, self.items)):
                break
            head.add(one)
            so_far += self.uses(one)
        return item not in head


def matthews(q):
    tp = len([item for item in q.shown if q.grades.get(item, 0) >= 1])
    fp, fn = q.k - tp, q.R - tp
    N = max(len(q.items), tp + fp + fn)
    tn = N - tp - fp - fn
    return over(tp * tn - fp * fn, sqrt(q.k * q.R * (N - q.R) * (N - q.k)))


def shares(items, groups):
    return {g: over(sum(1 for item in items if groups[item] == g), len(items)) for g in {*groups.values()}}


def calibration(q, alpha=0.01):
    p, now = shares(q.past, q.groups), shares(q.shown, q.groups)
    return sum(p[c] * log(p[c] / ((1 - alpha) * now[c] + alpha * p[c])) for c in p if p[c])


RECOMMENDED = {
    "Novelty": lambda q: q.mean(lambda item: -log2(q.uses(item) / len(q.train))),
    "Popularity": lambda q: q.mean(q.uses),
    "APLT": lambda q: q.mean(q.tail),
    "ACLT": lambda q: sum(map(q.tail, q.shown)),
    "Serendipity": lambda q: over(
        sum(q.r(i) * max(0, q.by_rank(i) - q.by_rank(q.place[item])) for i, item in enumerate(q.shown, 1)),
        len(q.shown),
    ),
    "MCC": matthews,
    "Calibration": calibration,
}

# What no row above computes, and why.
ELSEWHERE = {
    "relstring": "a text",
    "Prefs": "test_preferences",
    **dict.fromkeys(
        (
            "PassageRecall",
            "TokenRecall",
            "TokenPrecision",
            "TokenIoU",
            "TokenF1",
            "Redundancy",
            "ContextTokens",
            "Calls",
        ),
        "tests/evidence/test_coverage.py",
    ),
}
TABLES = (FORMULAS, WHOLE, USERS, SUBTOPICS, EVIDENCE, PROPERTIES, SAMPLES, RECOMMENDED)
MORE = {
    "F": ["F(beta=2)@3"],
    "SetF": ["SetF(beta=0.5)"],
    "Rprec_mult": ["Rprec_mult@0.4", "Rprec_mult@2.5"],
    "IPrec": ["IPrec@0", "IPrec@0.2", "IPrec@0.5", "IPrec@1"],
    "RBP": ["RBP(p=0.4)@3"],
    "RBPres": ["RBPres(p=0.4)"],
    "Compat": ["Compat(p=0.6)"],
    "GAP": ["GAP(thresholds=[0.2, 0.5, 0.3])"],
    "NCU": ["NCU(stop=gu)", "NCU(stop=rb)", "NCU(stop=rb, utility=P)"],
    "utility": ["utility(a=2, b=-0.5, c=-1, d=0.1, docs=100)"],
    "alpha_DCG": ["alpha_DCG(alpha=0.2)@3"],
    "NRBP": ["NRBP(alpha=0.3, beta=0.8)"],
    "D_sharp_Q": ["D_sharp_Q(gamma=0.2)@4"],
    "RBU": ["RBU(p=0.6, effort=0.2)@4"],
    "IA": ["IA(of=nDCG)", "IA(of=RR)"],
    "HT": ["HT(of=DCG)", "HT(of=R)"],
    "INST": ["INST(T=2)"],
    "BPM": ["BPM(T=0.5)@4"],
    "UMeasure": ["UMeasure(L=7)"],
    "TBG": ["TBG(halflife=3)"],
    "IFT": ["IFT(T=1, b1=0.5, R1=2, A=0.4, b2=0.7, R2=3)"],
    "BPMD": ["BPMD(T=0.5, hb=0.3, hc=0.6)@4"],
}


def test_every_printed_formula_is_computed_here():
    computed = [name for table in TABLES for name in table]
    assert sorted([*computed, *ELSEWHERE]) == sorted(
        name for name, one in definitions().items() if not one.is_foreign
    )


def specs(table):
    """Each measure with its defaults, with two cutoffs, and with the parameters of MORE."""
    found = []
    for name in table:
        known = registry.definitions()[name]
        needed = name in ("IPrec", "IA", "HT")
        plain = [] if needed else [name]
        cut = [f"{name}@2", f"{name}@6"] if known.at == "k" else []
        found += plain + cut + MORE.get(name, [])
    return found


def given(spec):
    """The measure, its cutoff (or the default one), and its other parameters."""
    measure = rl.measure(spec)
    default = measure.definition.parameters.get("k")
    params = {name: value for name, value in measure.params if name not in ("k", "max_n")}
    return measure, measure.k or (default.default if default else None), params


def check(scores, spec, formula, query_of):
    measure, k, params = given(spec)
    for query, value in zip(scores.queries, scores[measure].tolist(), strict=True):
        assert formula(query_of(query, k), **params) == pytest.approx(value, abs=1e-9), (spec, query)


def random_queries(seed, levels=(-1, 0, 0, 1, 1, 2, 3), queries=8):
    random = Random(seed)
    gold = {
        f"q{i}": {doc: random.choice(levels) for doc in random.sample(DOCS, random.randint(1, 6))}
        for i in range(queries)
    }
    run = {query: random.sample([*DOCS, "y", "z"], random.choice([1, 3, 5, 9])) for query in gold}
    return gold, run  # fmt: skip


@pytest.fixture(scope="module", params=range(3))
def graded(request):
    return random_queries(request.param)


@pytest.mark.parametrize("spec", specs(FORMULAS))
def test_formulas_of_grades(graded, spec):
    gold, run = graded
    top = max(g for some in gold.values() for g in some.values())
    anywhere = {doc for some in gold.values() for doc in some}
    scores = rl.evaluate(gold, run, spec)
    check(scores, spec, FORMULAS[given(spec)[0].name], lambda q, k: Ranked(gold[q], run[q], k, top, anywhere))


@pytest.mark.parametrize("name", WHOLE)
def test_formulas_over_all_queries(graded, name):
    gold, run = graded
    expected = WHOLE[name]([Ranked(gold[q], run[q]) for q in gold])
    assert rl.evaluate(gold, run, name).mean[name] == pytest.approx(expected)


@pytest.mark.parametrize("spec", specs(USERS))
def test_formulas_of_user_models(graded, spec):
    gold, run = graded
    top = max(g for some in gold.values() for g in some.values())
    measure = rl.measure(spec).replace(max_n=Attentive.deep)
    scores = rl.evaluate(gold, run, [measure])
    check(scores, str(measure), USERS[measure.name], lambda q, k: Attentive(gold[q], run[q], k, top))


@pytest.mark.parametrize("spec", specs(SUBTOPICS))
@pytest.mark.parametrize("seed", range(3))
def test_formulas_of_subtopics(seed, spec):
    random = Random(seed)
    gold, chance = {}, {}
    for i in range(6):
        names = ["s", "t", "u"][: random.randint(1, 3)]
        gold[f"q{i}"] = {
            s: {"a": 1} | {doc: random.choice([0, 1, 2]) for doc in random.sample(DOCS, 4)} for s in names
        }
        for some in gold[f"q{i}"].values():
            some[random.choice(DOCS)] = 1  # a subtopic has a relevant document
        weights = [random.randint(1, 4) for _ in names]
        chance[f"q{i}"] = {s: w / sum(weights) for s, w in zip(names, weights, strict=True)}
    run = {query: random.sample(DOCS, random.choice([1, 3, 5, 9])) for query in gold}
    judgments = rl.Judgments(
        subtopics=gold, intents=chance, navigational={query: [NAVIGATIONAL] for query in gold}
    )
    scores = rl.evaluate(judgments, run, spec)
    name = given(spec)[0].name
    check(scores, spec, SUBTOPICS[name], lambda q, k: Diverse(gold[q], chance[q], run[q], k))


@pytest.mark.parametrize("spec", specs(EVIDENCE))
@pytest.mark.parametrize("seed", range(3))
def test_formulas_of_evidence(seed, spec):
    random = Random(seed)
    gold, run = {}, {}
    for i in range(8):
        docs = random.sample(DOCS, 6)
        gold[f"q{i}"] = [frozenset(docs[:2]), frozenset(docs[2:5]), frozenset(docs[5:])][
            : random.randint(1, 3)
        ]
        run[f"q{i}"] = random.sample(DOCS, random.choice([1, 3, 5, 9]))
    scores = rl.evaluate(rl.Judgments(evidence={q: [set(one) for one in some] for q, some in gold.items()}), run, spec)  # fmt: skip
    check(scores, spec, EVIDENCE[given(spec)[0].name], lambda q, k: Sets(gold[q], run[q], k))


@pytest.mark.parametrize("spec", specs(PROPERTIES))
def test_formulas_of_properties(graded, spec):
    gold, run = graded
    random = Random(len(run["q0"]))
    properties = {
        doc: {
            "features": [random.random() for _ in range(3)],
            "understandability": random.random(),
            "group": random.choice("xyz"),
        }
        for doc in [*DOCS, "y", "z"]
    }
    scores = rl.evaluate(rl.Judgments(gold, documents=properties), run, spec)
    name = given(spec)[0].name
    check(scores, spec, PROPERTIES[name], lambda q, k: Shown(gold[q], run[q], properties, k))


@pytest.mark.parametrize("spec", specs(SAMPLES))
def test_formulas_of_samples(graded, spec):
    gold, run = graded
    random = Random(len(run["q0"]))
    strata = {q: {doc: random.choice("st") for doc in some} for q, some in gold.items()}
    chance = {q: {doc: random.uniform(0.2, 1) for doc in some} for q, some in gold.items()}
    scores = rl.evaluate(rl.Judgments(gold, strata=strata, probabilities=chance), run, spec)
    name = given(spec)[0].name
    check(scores, spec, SAMPLES[name], lambda q, k: Pool(gold[q], run[q], strata[q], chance[q], k))


@pytest.mark.parametrize("spec", specs(RECOMMENDED))
@pytest.mark.parametrize("seed", range(3))
def test_formulas_of_recommendations(seed, spec):
    random = Random(seed)
    users = [f"u{i}" for i in range(8)]
    train = {user: {*random.sample(DOCS, random.randint(1, 5))} for user in users}
    train[users[0]] |= {*DOCS}  # every item was used
    test = {user: dict.fromkeys(random.sample(DOCS, 3), 1) for user in users}
    lists = {user: random.sample(DOCS, random.choice([1, 3, 5, 9])) for user in users}
    groups = {item: random.choice("xyz") for item in DOCS}
    found = rl.recommend.evaluate(
        train, test, lists, spec, features={item: {"group": g} for item, g in groups.items()}
    )
    name = given(spec)[0].name
    check(found.scores, spec, RECOMMENDED[name], lambda u, k: Recommended(test[u], lists[u], train, u, groups, k))  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_preferences(seed):
    random = Random(seed)
    order = random.sample(DOCS, 6)
    preferred = [(order[i], order[j]) for i in range(6) for j in range(i + 1, 6) if random.random() < 0.6]
    ranking = random.sample(DOCS, 6)

    def above(a, b):
        return a in ranking and (b not in ranking or ranking.index(a) < ranking.index(b))

    expected = sum(above(a, b) for a, b in preferred) / len(preferred)
    found = rl.evaluate(rl.Judgments(preferences={"q": preferred}), {"q": ranking}, "Prefs")
    assert found.mean["Prefs"] == pytest.approx(expected)
