r"""What each measure is in mathematics, and where it comes from: one entry per measure, in LaTeX, with its references.

In formulas, :math:`r_i` is 1 if the document at rank i is relevant and 0 otherwise, :math:`g_i` its grade (0 if it is not judged),
:math:`\gamma` the gain of a grade, :math:`R` the number of relevant documents, :math:`n` that of retrieved ones; a star marks the
ideal ranking. Without a cutoff, k is n.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A publication."""

    key: str
    authors: str  # as BibTeX has them: with "and"
    title: str
    venue: str
    year: int
    doi: str | None  # None if there is none: books, and proceedings that never got one
    kind: str = "inproceedings"
    publisher: str = ""

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography."""
        where = {"article": "journal", "book": "publisher"}.get(self.kind, "booktitle")
        fields = {
            "author": self.authors,
            "title": f"{{{self.title}}}",
            where: self.venue,
            "year": str(self.year),
        }
        fields |= {"publisher": self.publisher} if self.publisher else {}
        fields |= {"doi": self.doi} if self.doi else {}
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def cited(self) -> str:
        """``Moffat and Zobel (2008)``."""
        names = [name.split(",")[0] for name in self.authors.split(" and ")]
        who = (
            names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
        )
        return f"{who} ({self.year})"

    def __str__(self) -> str:
        link = f" https://doi.org/{self.doi}" if self.doi else ""
        return f"{self.cited}: {self.title}. {self.venue}.{link}"


@dataclass(frozen=True)
class Entry:
    """The formula of a measure, in LaTeX, and the keys of its references."""

    formula: str
    references: tuple[str, ...] = ()


def _all(*references: Reference) -> dict[str, Reference]:
    return {reference.key: reference for reference in references}


TOIS, SIGIR, CIKM = "ACM Transactions on Information Systems", "Proceedings of SIGIR", "Proceedings of CIKM"
REFERENCES = _all(
    Reference("jarvelin2002", "Järvelin, Kalervo and Kekäläinen, Jaana", "Cumulated gain-based evaluation of IR techniques", TOIS, 2002, "10.1145/582415.582418", "article"),
    Reference("burges2005", "Burges, Chris and Shaked, Tal and Renshaw, Erin and Lazier, Ari and Deeds, Matt and Hamilton, Nicole and Hullender, Greg", "Learning to rank using gradient descent", "Proceedings of ICML", 2005, "10.1145/1102351.1102363"),
    Reference("moffat2008", "Moffat, Alistair and Zobel, Justin", "Rank-biased precision for measurement of retrieval effectiveness", TOIS, 2008, "10.1145/1416950.1416952", "article"),
    Reference("chapelle2009", "Chapelle, Olivier and Metzler, Donald and Zhang, Ya and Grinspan, Pierre", "Expected reciprocal rank for graded relevance", CIKM, 2009, "10.1145/1645953.1646033"),
    Reference("clarke2008", "Clarke, Charles L. A. and Kolla, Maheedhar and Cormack, Gordon V. and Vechtomova, Olga and Ashkan, Azin and Büttcher, Stefan and MacKinnon, Ian", "Novelty and diversity in information retrieval evaluation", SIGIR, 2008, "10.1145/1390334.1390446"),
    Reference("clarke2009", "Clarke, Charles L. A. and Kolla, Maheedhar and Vechtomova, Olga", "An effectiveness measure for ambiguous and underspecified queries", "Proceedings of ICTIR", 2009, "10.1007/978-3-642-04417-5_17"),
    Reference("clarke2021", "Clarke, Charles L. A. and Vtyurina, Alexandra and Smucker, Mark D.", "Assessing top-k preferences", TOIS, 2021, "10.1145/3451161", "article"),
    Reference("buckley2004", "Buckley, Chris and Voorhees, Ellen M.", "Retrieval evaluation with incomplete information", SIGIR, 2004, "10.1145/1008992.1009000"),
    Reference("yilmaz2006", "Yilmaz, Emine and Aslam, Javed A.", "Estimating average precision with incomplete and imperfect judgments", CIKM, 2006, "10.1145/1183614.1183633"),
    Reference("robertson2006", "Robertson, Stephen", "On GMAP: and other transformations", CIKM, 2006, "10.1145/1183614.1183630"),
    Reference("robertson2012", "Robertson, Stephen", "On smoothing average precision", "Proceedings of ECIR", 2012, "10.1007/978-3-642-28997-2_14"),
    Reference("voorhees1999", "Voorhees, Ellen M.", "The TREC-8 question answering track report", "Proceedings of TREC", 1999, None),
    Reference("buckley2005", "Buckley, Chris and Voorhees, Ellen M.", "Retrieval system evaluation", "TREC: Experiment and Evaluation in Information Retrieval", 2005, None, "incollection", "MIT Press"),
    Reference("vanrijsbergen1979", "van Rijsbergen, C. J.", "Information retrieval", "Butterworths", 1979, None, "book"),
    Reference("sakai2007", "Sakai, Tetsuya", "On the reliability of information retrieval metrics based on graded relevance", "Information Processing and Management", 2007, "10.1016/j.ipm.2006.07.020", "article"),
    Reference("sakai2008", "Sakai, Tetsuya and Robertson, Stephen", "Modelling a user population for designing information retrieval metrics", "Proceedings of EVIA", 2008, None),
    Reference("sakai2011", "Sakai, Tetsuya and Song, Ruihua", "Evaluating diversified search results using per-intent graded relevance", SIGIR, 2011, "10.1145/2009916.2010055"),
    Reference("sakai2013", "Sakai, Tetsuya and Dou, Zhicheng", "Summaries, ranked retrieval and sessions: a unified framework for information access evaluation", SIGIR, 2013, "10.1145/2484028.2484031"),
    Reference("sakai2019", "Sakai, Tetsuya and Zeng, Zhaohao", 'Which diversity evaluation measures are "good"?', SIGIR, 2019, "10.1145/3331184.3331215"),
    Reference("smucker2012", "Smucker, Mark D. and Clarke, Charles L. A.", "Time-based calibration of effectiveness measures", SIGIR, 2012, "10.1145/2348283.2348300"),
    Reference("moffat2015", "Moffat, Alistair and Bailey, Peter and Scholer, Falk and Thomas, Paul", "INST: an adaptive metric for information retrieval evaluation", "Proceedings of ADCS", 2015, "10.1145/2838931.2838938"),
    Reference("moffat2012", "Moffat, Alistair and Scholer, Falk and Thomas, Paul", "Models and metrics: IR evaluation as a user process", "Proceedings of ADCS", 2012, "10.1145/2407085.2407092"),
    Reference("zhang2017", "Zhang, Fan and Liu, Yiqun and Li, Xin and Zhang, Min and Xu, Yinghui and Ma, Shaoping", "Evaluating web search with a bejeweled player model", SIGIR, 2017, "10.1145/3077136.3080841"),
    Reference("azzopardi2018", "Azzopardi, Leif and Thomas, Paul and Craswell, Nick", "Measuring the utility of search engine result pages: an information foraging based measure", SIGIR, 2018, "10.1145/3209978.3210027"),
    Reference("azzopardi2019", "Azzopardi, Leif and Thomas, Paul and Moffat, Alistair", "cwl_eval: an evaluation tool for information retrieval", SIGIR, 2019, "10.1145/3331184.3331398"),
    Reference("azzopardi2021", "Azzopardi, Leif and Mackenzie, Joel and Moffat, Alistair", "ERR is not C/W/L: exploring the relationship between expected reciprocal rank and other metrics", "Proceedings of ICTIR", 2021, "10.1145/3471158.3472239"),
    Reference("agrawal2009", "Agrawal, Rakesh and Gollapudi, Sreenivas and Halverson, Alan and Ieong, Samuel", "Diversifying search results", "Proceedings of WSDM", 2009, "10.1145/1498759.1498766"),
    Reference("zhai2003", "Zhai, ChengXiang and Cohen, William W. and Lafferty, John", "Beyond independent relevance: methods and evaluation metrics for subtopic retrieval", SIGIR, 2003, "10.1145/860435.860440"),
    Reference("diaz2020", "Diaz, Fernando and Mitra, Bhaskar and Ekstrand, Michael D. and Biega, Asia J. and Carterette, Ben", "Evaluating stochastic rankings with expected exposure", CIKM, 2020, "10.1145/3340531.3411962"),
    Reference("ziegler2005", "Ziegler, Cai-Nicolas and McNee, Sean M. and Konstan, Joseph A. and Lausen, Georg", "Improving recommendation lists through topic diversification", "Proceedings of WWW", 2005, "10.1145/1060745.1060754"),
    Reference("zuccon2016", "Zuccon, Guido", "Understandability biased evaluation for information retrieval", "Proceedings of ECIR", 2016, "10.1007/978-3-319-30671-1_21"),
    Reference("thakur2021", "Thakur, Nandan and Reimers, Nils and Rücklé, Andreas and Srivastava, Abhishek and Gurevych, Iryna", "BEIR: A heterogeneous benchmark for zero-shot evaluation of information retrieval models", "Proceedings of the NeurIPS Track on Datasets and Benchmarks", 2021, "10.48550/arXiv.2104.08663"),
    Reference("vargas2011", "Vargas, Saúl and Castells, Pablo", "Rank and relevance in novelty and diversity metrics for recommender systems", "Proceedings of RecSys", 2011, "10.1145/2043932.2043955"),
    Reference("steck2018", "Steck, Harald", "Calibrated recommendations", "Proceedings of RecSys", 2018, "10.1145/3240323.3240372"),
    Reference("musgrave2020", "Musgrave, Kevin and Belongie, Serge and Lim, Ser-Nam", "A metric learning reality check", "Proceedings of ECCV", 2020, "10.1007/978-3-030-58595-2_41"),
    Reference("petroni2021", "Petroni, Fabio and Piktus, Aleksandra and Fan, Angela and Lewis, Patrick and Yazdani, Majid and De Cao, Nicola and Thorne, James and Jernite, Yacine and Karpukhin, Vladimir and Maillard, Jean and Plachouras, Vassilis and Rocktäschel, Tim and Riedel, Sebastian", "KILT: a benchmark for knowledge intensive language tasks", "Proceedings of NAACL", 2021, "10.18653/v1/2021.naacl-main.200"),
    Reference("smucker2007", "Smucker, Mark D. and Allan, James and Carterette, Ben", "A comparison of statistical significance tests for information retrieval evaluation", CIKM, 2007, "10.1145/1321440.1321528"),
)  # fmt: skip

_BLENDED = r"\mathrm{BR}(i) = \frac{\sum_{j \le i} r_j + \beta \sum_{j \le i} \gamma_j}{i + \beta \sum_{j \le i} \gamma^*_j}"
_MODEL = r"\sum_i W(i)\, g_i, \quad W(i) = \frac{\prod_{j<i} C(j)}{\sum_l \prod_{j<l} C(j)}, \quad C(i) = "
_CWL = ("azzopardi2019",)
_ALPHA = r"J_i = \sum_s r_{is} (1-\alpha)^{\sum_{j<i} r_{js}}"
ENTRIES: dict[str, Entry] = {
    "P": Entry(r"\frac{1}{k} \sum_{i=1}^{k} r_i", ("buckley2005",)),
    "R": Entry(r"\frac{1}{R} \sum_{i=1}^{k} r_i", ("buckley2005",)),
    "F": Entry(r"\frac{(1+\beta^2)\, P_k\, R_k}{\beta^2 P_k + R_k}", ("vanrijsbergen1979",)),
    "Success": Entry(r"\max_{i \le k} r_i"),
    "Rprec": Entry(r"\frac{1}{R} \sum_{i=1}^{R} r_i", ("buckley2005",)),
    "Rprec_mult": Entry(r"\frac{1}{m} \sum_{i=1}^{m} r_i, \quad m = \lfloor x R + 0.9 \rfloor"),
    "SetP": Entry(r"\frac{1}{n} \sum_{i=1}^{n} r_i"),
    "SetR": Entry(r"\frac{1}{R} \sum_{i=1}^{n} r_i"),
    "SetF": Entry(r"\frac{(1+\beta)\, P_n\, R_n}{\beta P_n + R_n}", ("vanrijsbergen1979",)),
    "SetRelP": Entry(r"\frac{1}{\min(n, R)} \sum_{i=1}^{n} r_i"),
    "SetAP": Entry(r"P_n\, R_n"),
    "FallOut": Entry(r"\frac{\text{judged irrelevant documents in the top } k}{\text{all judged irrelevant documents}}"),
    "AP": Entry(r"\frac{1}{R} \sum_{i=1}^{k} r_i\, P_i", ("buckley2005",)),
    "LRAP": Entry(r"\frac{\sum_{i=1}^{k} r_i\, P_i}{\sum_{i=1}^{k} r_i}"),
    "gm_AP": Entry(r"\exp \frac{1}{|Q|} \sum_{q \in Q} \ln \max(\mathrm{AP}_q, 10^{-5})", ("robertson2006",)),
    "IPrec": Entry(r"\max_{i :\, R_i \ge \rho} P_i, \quad \rho \text{ the recall}", ("buckley2005",)),
    "AP11": Entry(r"\frac{1}{11} \sum_{\rho \in \{0, 0.1, \dots, 1\}} \mathrm{IPrec}_\rho", ("buckley2005",)),
    "infAP": Entry(r"\frac{1}{R} \sum_i r_i \left( \frac{1}{i} + \frac{i-1}{i} \cdot \frac{|\mathrm{pool}_{<i}|}{i-1} \cdot \frac{\mathrm{rel}_{<i} + \varepsilon}{\mathrm{rel}_{<i} + \mathrm{nonrel}_{<i} + 2\varepsilon} \right)", ("yilmaz2006",)),
    "yaap": Entry(r"\ln \frac{1 + s}{1 + R - s}, \quad s = \sum_i r_i P_i", ("robertson2012",)),
    "CG": Entry(r"\sum_{i=1}^{k} \gamma(g_i)", ("jarvelin2002",)),
    "nCG": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i)}{\sum_{i=1}^{k} \gamma(g^*_i)}", ("jarvelin2002",)),
    "DCG": Entry(r"\sum_{i=1}^{k} \frac{\gamma(g_i)}{\log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1", ("jarvelin2002", "burges2005")),
    "nDCG": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i) / \log_2 (i+1)}{\sum_{i=1}^{k} \gamma(g^*_i) / \log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1", ("jarvelin2002", "burges2005")),
    "IDCG": Entry(r"\sum_{i=1}^{k} \frac{\gamma(g^*_i)}{\log_2 (i+1)}", ("jarvelin2002",)),
    "ndcg_rel": Entry(r"\frac{1}{R_\gamma} \Big( \sum_{i :\, \gamma_i > 0} \mathrm{nDCG}_i + m \, \mathrm{nDCG}_n \Big), \quad m \text{ documents missed}"),
    "Rndcg": Entry(r"\frac{1}{|L|} \sum_{i \in L} \mathrm{nDCG}_i, \quad L = \{i : \gamma^*_i \ne \gamma^*_{i+1}\} \cup \{n\}"),
    "binG": Entry(r"\frac{1}{R} \sum_i \frac{r_i}{\log_2 \big(2 + \sum_{j<i} (1 - r_j)\big)}"),
    "G": Entry(r"\frac{1}{\sum_i \gamma^*_i} \sum_i \frac{\gamma_i}{\log_2 (2 + \text{gain missed before } i)}"),
    "ARP": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i)\, i}{\sum_{i=1}^{k} \gamma(g_i)}"),
    "RR": Entry(r"\max_{i \le k} \frac{r_i}{i}", ("voorhees1999",)),
    "ERR": Entry(r"\sum_{i=1}^{k} \frac{s_i}{i} \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}", ("chapelle2009",)),
    "nERR": Entry(r"\frac{\mathrm{ERR}_k}{\mathrm{ERR}^*_k}", ("chapelle2009",)),
    "iRBU": Entry(r"\sum_{i=1}^{k} p^i s_i \prod_{j<i} (1 - s_j), \quad s_i \text{ as in ERR}", ("sakai2019",)),
    "RBP": Entry(r"(1-p) \sum_{i=1}^{k} r_i\, p^{i-1}", ("moffat2008",)),
    "RBPres": Entry(r"(1-p) \sum_{i :\, \text{unjudged}} p^{i-1} + p^n", ("moffat2008",)),
    "Bpref": Entry(r"\frac{1}{R} \sum_i r_i \left( 1 - \frac{\min(R, \bar r_{<i})}{\min(R, N)} \right), \quad N \text{ judged irrelevant, } \bar r_{<i} \text{ of them above } i", ("buckley2004",)),
    "gm_Bpref": Entry(r"\exp \frac{1}{|Q|} \sum_{q \in Q} \ln \max(\mathrm{Bpref}_q, 10^{-5})", ("buckley2004",)),
    "AUC": Entry(r"\frac{|\{(i, j) : i < j \le k,\ r_i = 1,\ r_j = 0\}|}{|\{i \le k : r_i = 1\}| \cdot |\{j \le k : r_j = 0\}|}"),
    "RankingLoss": Entry(r"1 - \mathrm{AUC}_k"),
    "OPA": Entry(r"\frac{|\{(i, j) : i < j \le k,\ g_i > g_j\}|}{|\{(i, j) : i < j \le k,\ g_i \ne g_j\}|}"),
    "CoverageError": Entry(r"\max \{ i : r_i = 1 \}"),
    "Compat": Entry(r"\max_{I} \frac{\sum_i p^{i-1} |S_{1:i} \cap I_{1:i}| / i}{\sum_i p^{i-1} |I_{1:i}| / i}, \quad I \text{ over ideal rankings}", ("clarke2021",)),
    "Prefs": Entry(r"\frac{|\{(a, b) : a \succ b,\ a \text{ ranked above } b\}|}{|\{(a, b) : a \succ b\}|}"),
    "Q": Entry(rf"\frac{{1}}{{\min(R, k)}} \sum_{{i=1}}^{{k}} r_i\, \mathrm{{BR}}(i), \quad {_BLENDED}", ("sakai2007",)),
    "O": Entry(r"\mathrm{BR}(i_1), \quad i_1 = \min \{i : r_i = 1\}", ("sakai2007",)),
    "P_plus": Entry(r"\frac{1}{\sum_{i \le i_p} r_i} \sum_{i \le i_p} r_i\, \mathrm{BR}(i), \quad i_p = \min \{i : g_i = \max_j g_j\}", ("sakai2007",)),
    "P_measure": Entry(r"\mathrm{BR}(i_p), \quad i_p = \min \{i : g_i = \max_j g_j\}", ("sakai2007",)),
    "NCU": Entry(r"\sum_i \Pr(\text{stop at } i)\, U(i), \quad U = \mathrm{BR} \text{ or } P", ("sakai2008",)),
    "EBR": Entry(r"\sum_{i=1}^{k} \mathrm{BR}(i)\, s_i \prod_{j<i} (1 - s_j), \quad s_i \text{ as in ERR}", ("sakai2019",)),
    "Judged": Entry(r"\frac{|\{i \le k : \text{judged}\}|}{\min(k, n)}"),
    "Unjudged": Entry(r"\frac{|\{i \le k : \text{not judged}\}|}{k}"),
    "NumQ": Entry(r"|Q|"),
    "NumRet": Entry(r"\sum_q n_q"),
    "NumRel": Entry(r"\sum_q R_q"),
    "NumRelRet": Entry(r"\sum_q \sum_{i=1}^{n_q} r_{qi}"),
    "HitCount": Entry(r"\sum_{i=1}^{k} r_i"),
    "num_nonrel_judged_ret": Entry(r"\sum_q |\{i : \text{judged},\ r_{qi} = 0\}|"),
    "utility": Entry(r"a \sum_i r_i + b \sum_i (1 - r_i) + c \Big(R - \sum_i r_i\Big) + d \Big(D - R - \sum_i (1 - r_i)\Big), \quad D \text{ documents}"),
    "relstring": Entry(r"g_1 g_2 \dots g_k"),
    "CMC": Entry(r"\max_{i \le k} r_i"),
    "MnR": Entry(r"\min \big( \{i : r_i = 1\} \cup \{n + 1\} \big)"),
    "MedR": Entry(r"\operatorname{median}_q \min \big( \{i : r_{qi} = 1\} \cup \{n_q + 1\} \big)"),
    "AP_R": Entry(r"\frac{1}{R} \sum_{i=1}^{R} r_i\, P_i", ("musgrave2020",)),
    "Hole": Entry(r"\frac{|\{i \le k : d_i \text{ is judged for no query}\}|}{k}", ("thakur2021",)),
    "INST": Entry(_MODEL + r"\left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2, \quad T_i = T - \sum_{j \le i} g_j", ("moffat2015", *_CWL)),
    "INSQ": Entry(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2", ("moffat2012", *_CWL)),
    "BPM": Entry(_MODEL + r"[\, \textstyle\sum_{j \le i} g_j < T \text{ and } i < k \,]", ("zhang2017", *_CWL)),
    "SDCG": Entry(r"\frac{\sum_{i=1}^{k} g_i / \log_2 (i+1)}{\sum_{i=1}^{k} 1 / \log_2 (i+1)}", ("jarvelin2002", *_CWL)),
    "TBG": Entry(_MODEL + r"2^{-c_i / h}, \quad c_i \text{ the cost, } h \text{ the half-life}", ("smucker2012", *_CWL)),
    "UMeasure": Entry(r"\sum_i g_i \max(0, 1 - c_{\le i} / L) \text{, scaled}, \quad c_{\le i} \text{ the cost so far}", ("sakai2013", *_CWL)),
    "IFT": Entry(_MODEL + r"C_1(i)\, C_2(i) \text{: goal } T \text{ and rate } A, \text{ both logistic}", ("azzopardi2018", *_CWL)),
    "NERR8": Entry(_MODEL + r"(1 - g_i)\, [i < k]", ("azzopardi2021",)),
    "NERR9": Entry(_MODEL + r"(1 - g_i)\, \frac{i}{i+1}\, [i < k]", ("azzopardi2021",)),
    "NERR10": Entry(_MODEL + r"p\, (1 - g_i)", ("azzopardi2021",)),
    "NERR11": Entry(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)", ("azzopardi2021",)),
    "TrAP": Entry(r"\sum_i W(i)\, g_i, \quad W(i) \propto P_i", _CWL),
    "alpha_DCG": Entry(rf"\sum_{{i=1}}^{{k}} \frac{{J_i}}{{\log_2 (i+1)}}, \quad {_ALPHA}", ("clarke2008",)),
    "alpha_nDCG": Entry(rf"\frac{{\sum_{{i=1}}^{{k}} J_i / \log_2 (i+1)}}{{\sum_{{i=1}}^{{k}} J^*_i / \log_2 (i+1)}}, \quad {_ALPHA}", ("clarke2008",)),
    "ERR_IA": Entry(rf"\sum_{{i=1}}^{{k}} \frac{{J_i}}{{i}} \text{{, scaled}}, \quad {_ALPHA}", ("chapelle2009", "clarke2008")),
    "nERR_IA": Entry(r"\frac{\mathrm{ERR\text{-}IA}_k}{\mathrm{ERR\text{-}IA}^*_k}", ("chapelle2009", "clarke2008")),
    "NRBP": Entry(rf"\frac{{1 - (1-\alpha)\beta}}{{S}} \sum_i \beta^{{i-1}} J_i, \quad {_ALPHA}, \quad S \text{{ subtopics}}", ("clarke2009",)),
    "nNRBP": Entry(r"\frac{\mathrm{NRBP}}{\mathrm{NRBP}^*}", ("clarke2009",)),
    "AP_IA": Entry(r"\sum_s \Pr(s)\, \mathrm{AP}_s", ("agrawal2009",)),
    "P_IA": Entry(r"\sum_s \Pr(s)\, P_{k,s}", ("agrawal2009",)),
    "StRecall": Entry(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", ("zhai2003",)),
    "I_rec": Entry(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", ("zhai2003", "sakai2011")),
    "D_nDCG": Entry(r"\frac{\sum_{i=1}^{k} G_i / \log_2 (i+1)}{\sum_{i=1}^{k} G^*_i / \log_2 (i+1)}, \quad G_i = \sum_s \Pr(s)\, g_{is}", ("sakai2011",)),
    "D_Q": Entry(r"\mathrm{Q} \text{ over } G_i = \sum_s \Pr(s)\, g_{is}", ("sakai2011", "sakai2007")),
    "D_sharp_nDCG": Entry(r"\gamma\, \mathrm{I\text{-}rec}_k + (1 - \gamma)\, \mathrm{D\text{-}nDCG}_k", ("sakai2011",)),
    "IA": Entry(r"\sum_s \Pr(s)\, M_s, \quad M_s \text{ the measure over subtopic } s", ("agrawal2009",)),
    "AllRecall": Entry(r"\frac{|\{E : E \subseteq S_{1:k}\}|}{|\{E\}|}, \quad E \text{ evidence sets}", ("petroni2021",)),
    "AnyRecall": Entry(r"\frac{|\{E : E \cap S_{1:k} \ne \emptyset\}|}{|\{E\}|}"),
    "EvidenceSuccess": Entry(r"[\, \exists E : E \subseteq S_{1:k} \,]"),
    "EvidenceRprec": Entry(r"\max_E \frac{|E \cap S_{1:|E|}|}{|E|}", ("petroni2021",)),
    "ILD": Entry(r"\frac{2}{k(k-1)} \sum_{i<j \le k} d(i, j)", ("ziegler2005",)),
    "uRBP": Entry(r"(1-p) \sum_{i=1}^{k} p^{i-1}\, r_i\, u_i, \quad u_i \text{ how well document } i \text{ is understood}", ("zuccon2016",)),
    "AWRF": Entry(r"1 - \Delta(\epsilon, \epsilon^*), \quad \epsilon \text{ the groups' shares of attention, } \epsilon^* \text{ their target}"),
    "EE_D": Entry(r"\sum_{\text{groups}} \epsilon^2", ("diaz2020",)),
    "EE_R": Entry(r"\sum_{\text{groups}} \epsilon\, \epsilon^*", ("diaz2020",)),
    "EE_L": Entry(r"\sum_{\text{groups}} (\epsilon - \epsilon^*)^2", ("diaz2020",)),
    "Novelty": Entry(r"\frac{1}{k} \sum_{i=1}^{k} -\log_2 \Pr(\text{item } i \text{ used})", ("vargas2011",)),
    "Popularity": Entry(r"\frac{1}{k} \sum_{i=1}^{k} \text{uses of item } i"),
    "APLT": Entry(r"\frac{|\{i \le k : \text{item } i \text{ in the long tail}\}|}{k}"),
    "ACLT": Entry(r"|\{i \le k : \text{item } i \text{ in the long tail}\}|"),
    "Serendipity": Entry(r"\frac{1}{n} \sum_{i=1}^{n} r_i \max(0, \Pr(i) - \Pr_{\text{popular}}(i)), \quad n \text{ items in the top } k"),
    "pAUC": Entry(r"\mathrm{AUC} \text{ down to the } k\text{-th item that was not wanted}"),
    "Calibration": Entry(r"\sum_c p(c) \ln \frac{p(c)}{(1-\alpha)\, q(c) + \alpha\, p(c)}", ("steck2018",)),
}  # fmt: skip


def entry_of(name: str) -> Entry:
    """What is known of a measure; nothing of one that was defined elsewhere."""
    return ENTRIES.get(name, Entry(""))


def references_of(name: str) -> list[Reference]:
    """Where a measure comes from."""
    return [REFERENCES[key] for key in entry_of(name).references]
