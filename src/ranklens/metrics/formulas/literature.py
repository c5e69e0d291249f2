r"""What each measure is in mathematics, and where it comes from: one entry per measure, in LaTeX, with its references.

The notation is explained at the top of docs/measures.md (docs/make_measures.py). tests/formulas/test_printed_formulas.py computes
every formula as a reader would.
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
    volume: str = ""  # with its number: 20(4)
    pages: str = ""
    url: str = ""
    note: str = ""

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography."""
        where = {"article": "journal", "book": "", "misc": ""}.get(self.kind, "booktitle")
        volume, _, number = self.volume.rstrip(")").partition("(")
        fields = {
            "author": self.authors,
            "title": f"{{{self.title}}}",
            where: self.venue,
            "volume": volume,
            "number": number,
            "pages": self.pages.replace("-", "--"),
            "year": str(self.year),
            "publisher": self.venue if self.kind == "book" else self.publisher,
            "note": self.note,
            "doi": self.doi,
            "url": self.url,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if name and value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def cited(self) -> str:
        """``Moffat and Zobel (2008)``."""
        names = [name.split(",")[0].strip("{}") for name in self.authors.split(" and ")]
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
    Reference("clarke2011", "Clarke, Charles L. A. and Craswell, Nick and Soboroff, Ian and Ashkan, Azin", "A comparative analysis of cascade measures for novelty and diversity", "Proceedings of WSDM", 2011, "10.1145/1935826.1935847"),
    Reference("clarke2020", "Clarke, Charles L. A. and Vtyurina, Alexandra and Smucker, Mark D.", "Offline evaluation without gain", "Proceedings of ICTIR", 2020, "10.1145/3409256.3409816"),
    Reference("carterette2008", "Carterette, Ben and Bennett, Paul N. and Chickering, David Maxwell and Dumais, Susan T.", "Here or there: preference judgments for relevance", "Proceedings of ECIR", 2008, "10.1007/978-3-540-78646-7_5"),
    Reference("sapiezynski2019", "Sapiezynski, Piotr and Zeng, Wesley and Robertson, Ronald E. and Mislove, Alan and Wilson, Christo", "Quantifying the impact of user attention on fair group representation in ranked lists", "Companion Proceedings of the Web Conference", 2019, "10.1145/3308560.3317595"),
    Reference("sakai2006", "Sakai, Tetsuya", "Bootstrap-based comparisons of IR metrics for finding one relevant document", "Proceedings of AIRS", 2006, None),
    Reference("clarke2021", "Clarke, Charles L. A. and Vtyurina, Alexandra and Smucker, Mark D.", "Assessing top-k preferences", TOIS, 2021, "10.1145/3451161", "article"),
    Reference("buckley2004", "Buckley, Chris and Voorhees, Ellen M.", "Retrieval evaluation with incomplete information", SIGIR, 2004, "10.1145/1008992.1009000"),
    Reference("yilmaz2006", "Yilmaz, Emine and Aslam, Javed A.", "Estimating average precision with incomplete and imperfect judgments", CIKM, 2006, "10.1145/1183614.1183633"),
    Reference("yilmaz2008", "Yilmaz, Emine and Kanoulas, Evangelos and Aslam, Javed A.", "A simple and efficient sampling method for estimating AP and NDCG", SIGIR, 2008, "10.1145/1390334.1390437"),
    Reference("pavlu2007", "Pavlu, Virgil and Aslam, Javed A.", "A practical sampling strategy for efficient retrieval evaluation", "Technical report, Northeastern University", 2007, None, "misc"),
    Reference("robertson2010", "Robertson, Stephen E. and Kanoulas, Evangelos and Yilmaz, Emine", "Extending average precision to graded relevance judgments", SIGIR, 2010, "10.1145/1835449.1835550"),
    Reference("magdy2010", "Magdy, Walid and Jones, Gareth J. F.", "PRES: a score metric for evaluating recall-oriented information retrieval applications", SIGIR, 2010, "10.1145/1835449.1835551"),
    Reference("robertson2006", "Robertson, Stephen", "On GMAP: and other transformations", CIKM, 2006, "10.1145/1183614.1183630"),
    Reference("robertson2012", "Robertson, Stephen", "On smoothing average precision", "Proceedings of ECIR", 2012, "10.1007/978-3-642-28997-2_14"),
    Reference("voorhees1999", "Voorhees, Ellen M.", "The TREC-8 question answering track report", "Proceedings of TREC", 1999, None),
    Reference("buckley2005", "Buckley, Chris and Voorhees, Ellen M.", "Retrieval system evaluation", "TREC: Experiment and Evaluation in Information Retrieval", 2005, None, "incollection", "MIT Press"),
    Reference("vanrijsbergen1979", "van Rijsbergen, C. J.", "Information retrieval", "Butterworths", 1979, None, "book"),
    Reference("sakai2007", "Sakai, Tetsuya", "On the reliability of information retrieval metrics based on graded relevance", "Information Processing and Management", 2007, "10.1016/j.ipm.2006.07.020", "article"),
    Reference("sakai2008", "Sakai, Tetsuya and Robertson, Stephen", "Modelling a user population for designing information retrieval metrics", "Proceedings of EVIA", 2008, None),
    Reference("sakai2011", "Sakai, Tetsuya and Song, Ruihua", "Evaluating diversified search results using per-intent graded relevance", SIGIR, 2011, "10.1145/2009916.2010055"),
    Reference("sakai2012", "Sakai, Tetsuya", "Evaluation with informational and navigational intents", "Proceedings of WWW", 2012, "10.1145/2187836.2187904"),
    Reference("sakai2013", "Sakai, Tetsuya and Dou, Zhicheng", "Summaries, ranked retrieval and sessions: a unified framework for information access evaluation", SIGIR, 2013, "10.1145/2484028.2484031"),
    Reference("sakai2019", "Sakai, Tetsuya and Zeng, Zhaohao", 'Which diversity evaluation measures are "good"?', SIGIR, 2019, "10.1145/3331184.3331215"),
    Reference("smucker2012", "Smucker, Mark D. and Clarke, Charles L. A.", "Time-based calibration of effectiveness measures", SIGIR, 2012, "10.1145/2348283.2348300"),
    Reference("moffat2015", "Moffat, Alistair and Bailey, Peter and Scholer, Falk and Thomas, Paul", "INST: an adaptive metric for information retrieval evaluation", "Proceedings of ADCS", 2015, "10.1145/2838931.2838938"),
    Reference("moffat2012", "Moffat, Alistair and Scholer, Falk and Thomas, Paul", "Models and metrics: IR evaluation as a user process", "Proceedings of ADCS", 2012, "10.1145/2407085.2407092"),
    Reference("zhang2017", "Zhang, Fan and Liu, Yiqun and Li, Xin and Zhang, Min and Xu, Yinghui and Ma, Shaoping", "Evaluating web search with a bejeweled player model", SIGIR, 2017, "10.1145/3077136.3080841"),
    Reference("azzopardi2018", "Azzopardi, Leif and Thomas, Paul and Craswell, Nick", "Measuring the utility of search engine result pages: an information foraging based measure", SIGIR, 2018, "10.1145/3209978.3210027"),
    Reference("azzopardi2019", "Azzopardi, Leif and Thomas, Paul and Moffat, Alistair", "cwl_eval: an evaluation tool for information retrieval", SIGIR, 2019, "10.1145/3331184.3331398"),
    Reference("azzopardi2021", "Azzopardi, Leif and Mackenzie, Joel and Moffat, Alistair", "ERR is not C/W/L: exploring the relationship between expected reciprocal rank and other metrics", "Proceedings of ICTIR", 2021, "10.1145/3471158.3472239"),
    Reference("amigo2018", "Amigó, Enrique and Spina, Damiano and Carrillo-de-Albornoz, Jorge", "An axiomatic analysis of diversity evaluation metrics: introducing the rank-biased utility metric", SIGIR, 2018, "10.1145/3209978.3210024"),
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
    Reference("azzopardi2014", "Azzopardi, Leif", "Modelling interaction with economic models of search", SIGIR, 2014, "10.1145/2600428.2609574", pages="3-12"),
    Reference("hiranandani2020", "Hiranandani, Gaurush and Vijitbenjaronk, Warut and Koyejo, Sanmi and Jain, Prateek", "Optimization and analysis of the pAp@k metric for recommender systems", "Proceedings of ICML", 2020, None),
    Reference("holm1979", "Holm, Sture", "A simple sequentially rejective multiple test procedure", "Scandinavian Journal of Statistics", 1979, None, "article", volume="6(2)", pages="65-70"),
    Reference("hochberg1988", "Hochberg, Yosef", "A sharper Bonferroni procedure for multiple tests of significance", "Biometrika", 1988, "10.1093/biomet/75.4.800", "article", volume="75(4)", pages="800-802"),
    Reference("hommel1988", "Hommel, Gerhard", "A stagewise rejective multiple test procedure based on a modified Bonferroni test", "Biometrika", 1988, "10.1093/biomet/75.2.383", "article", volume="75(2)", pages="383-386"),
    Reference("dunn1961", "Dunn, Olive Jean", "Multiple comparisons among means", "Journal of the American Statistical Association", 1961, "10.1080/01621459.1961.10482090", "article", volume="56(293)", pages="52-64"),
    Reference("benjamini1995", "Benjamini, Yoav and Hochberg, Yosef", "Controlling the false discovery rate: a practical and powerful approach to multiple testing", "Journal of the Royal Statistical Society: Series B", 1995, "10.1111/j.2517-6161.1995.tb02031.x", "article", volume="57(1)", pages="289-300"),
    Reference("benjamini2001", "Benjamini, Yoav and Yekutieli, Daniel", "The control of the false discovery rate in multiple testing under dependency", "The Annals of Statistics", 2001, "10.1214/aos/1013699998", "article", volume="29(4)", pages="1165-1188"),
    Reference("fagerland2013", "Fagerland, Morten W. and Lydersen, Stian and Laake, Petter", "The McNemar test for binary matched-pairs data: mid-p and asymptotic are better than exact conditional", "BMC Medical Research Methodology", 2013, "10.1186/1471-2288-13-91", "article", volume="13", pages="91"),
    Reference("carterette2012", "Carterette, Benjamin A.", "Multiple testing in statistical analysis of systems-based information retrieval experiments", TOIS, 2012, "10.1145/2094072.2094076", "article", volume="30(1)", pages="4:1-4:34"),
    Reference("hothorn2008", "Hothorn, Torsten and Bretz, Frank and Westfall, Peter", "Simultaneous inference in general parametric models", "Biometrical Journal", 2008, "10.1002/bimj.200810425", "article", volume="50(3)", pages="346-363"),
    Reference("fay1997", "Fay, Michael P. and Feuer, Eric J.", "Confidence intervals for directly standardized rates: a method based on the gamma distribution", "Statistics in Medicine", 1997, None, "article", volume="16(7)", pages="791-801"),
    Reference("ranklens", "{The RankLens authors}", "RankLens: measure retrieval", "", 2026, None, "misc", url="https://github.com/ranklens/ranklens"),
)  # fmt: skip
# Where the tests and corrections of comparisons come from.
PROCEDURES: dict[str, str] = {
    "randomization": "smucker2007", "mcnemar": "fagerland2013", "tukey": "carterette2012", "tukey-randomized": "carterette2012",
    "max-t": "hothorn2008", "margin": "fay1997",
    "holm": "holm1979", "bonferroni": "dunn1961", "hochberg": "hochberg1988", "hommel": "hommel1988", "bh": "benjamini1995",
    "by": "benjamini2001",
}  # fmt: skip

_BLENDED = r"\mathrm{BR}(i) = \frac{\sum_{j \le i} r_j + \beta \sum_{j \le i} \gamma_j}{i + \beta \sum_{j \le i} \gamma^*_j}"
_MODEL = r"\sum_i W(i)\, g_i, \quad W(i) = \frac{\prod_{j<i} C(j)}{\sum_l \prod_{j<l} C(j)}, \quad C(i) = "
_CWL = ("azzopardi2019",)
_STRATA = r"\hat R = \sum_d r_d N_{s(d)} / n_{s(d)}, \quad N_s, n_s \text{ pooled and sampled documents of stratum } s"
_ALPHA = r"J_i = \sum_s \Pr(s)\, r_{is} (1-\alpha)^{\sum_{j<i} r_{js}}"
_EXPOSURE = r"\epsilon_G = \sum_{i \le k,\, i \in G} \frac{1}{\log_2 \max(i, 2)}, \ G \text{ a group}"
_TARGET = r"\epsilon^*_G = t_G \sum_H \epsilon_H, \quad t_G \text{ the target share}"
ENTRIES: dict[str, Entry] = {
    "P": Entry(r"\frac{1}{k} \sum_{i=1}^{k} r_i", ("buckley2005",)),
    "R": Entry(r"\frac{1}{R} \sum_{i=1}^{k} r_i", ("buckley2005",)),
    "F": Entry(r"\frac{(1+\beta^2)\, P_k\, R_k}{\beta^2 P_k + R_k}", ("vanrijsbergen1979",)),
    "Success": Entry(r"\max_{i \le k} r_i"),
    "FullRecall": Entry(r"[\, R_k = 1 \,]"),
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
    "IPrec": Entry(r"\max_{i :\, \sum_{j \le i} r_j \ge \lfloor \rho R + 1/2 \rfloor} P_i, \quad \rho \text{ the recall}", ("buckley2005",)),
    "AP11": Entry(r"\frac{1}{11} \sum_{\rho \in \{0, 0.1, \dots, 1\}} \mathrm{IPrec}_\rho", ("buckley2005",)),
    "GAP": Entry(r"\frac{\sum_j t_j \sum_{i :\, g_i \ge j} P_i^{(j)}}{\sum_j t_j R^{(j)}}, \quad P^{(j)}, R^{(j)} \text{ with documents of grade } j \text{ or more}, \ t_j \text{ share of users}", ("robertson2010",)),
    "PRES": Entry(r"1 - \frac{\frac{1}{R} \sum_d \rho_d - \frac{R+1}{2}}{k}, \quad \rho_d \text{ the rank of the relevant document } d, \text{ or } k + R, k + R - 1 \ldots \text{ if not in the top } k", ("magdy2010",)),
    "infAP": Entry(r"\frac{1}{R} \sum_i \frac{r_i}{i} \left( 1 + |\mathrm{pool}_{<i}| \cdot \frac{\mathrm{rel}_{<i} + \varepsilon}{\mathrm{rel}_{<i} + \mathrm{nonrel}_{<i} + 2\varepsilon} \right), \quad \varepsilon = 10^{-5}, \ \mathrm{pool}_{<i} \text{ those above } i \text{ with any grade, also below 0}", ("yilmaz2006",)),
    "yaap": Entry(r"\ln \frac{1 + s}{1 + R - s}, \quad s = \sum_i r_i P_i", ("robertson2012",)),
    "CG": Entry(r"\sum_{i=1}^{k} \gamma(g_i)", ("jarvelin2002",)),
    "nCG": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i)}{\sum_{i=1}^{k} \gamma(g^*_i)}", ("jarvelin2002",)),
    "DCG": Entry(r"\sum_{i=1}^{k} \frac{\gamma(g_i)}{\log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1", ("jarvelin2002", "burges2005")),
    "nDCG": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i) / \log_2 (i+1)}{\sum_{i=1}^{k} \gamma(g^*_i) / \log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1", ("jarvelin2002", "burges2005")),
    "IDCG": Entry(r"\sum_{i=1}^{k} \frac{\gamma(g^*_i)}{\log_2 (i+1)}", ("jarvelin2002",)),
    "ndcg_rel": Entry(r"\frac{1}{R_\gamma} \Big( \sum_{i :\, \gamma_i > 0} \mathrm{nDCG}_i + m \, \mathrm{nDCG} \Big), \quad R_\gamma \text{ documents have a gain, } m \text{ of them not retrieved}"),
    "Rndcg": Entry(r"\frac{1}{|L|} \sum_{i \in L} \mathrm{nDCG}_i, \quad L = \{i \le R_\gamma : \gamma^*_i \ne \gamma^*_{i+1}\} \cup \{n \text{ if } n > R_\gamma + 1\}, \quad R_\gamma \text{ documents have a gain}"),
    "binG": Entry(r"\frac{1}{R} \sum_i \frac{r_i}{\log_2 \big(2 + \sum_{j<i} (1 - r_j)\big)}"),
    "G": Entry(r"\frac{1}{\sum_i \gamma^*_i} \sum_i \frac{\gamma_i}{\log_2 (2 + m_i)}, \quad m_i = \sum_{j \le i} \big( \max(\gamma^*_j, 1) - \gamma_j \big)"),
    "ARP": Entry(r"\frac{\sum_{i=1}^{k} \gamma(g_i)\, i}{\sum_{i=1}^{k} \gamma(g_i)}"),
    "RR": Entry(r"\max_{i \le k} \frac{r_i}{i}", ("voorhees1999",)),
    "ERR": Entry(r"\sum_{i=1}^{k} \frac{s_i}{i} \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}", ("chapelle2009",)),
    "nERR": Entry(r"\frac{\mathrm{ERR}_k}{\mathrm{ERR}^*_k}", ("chapelle2009",)),
    "iRBU": Entry(r"\sum_{i=1}^{k} p^i s_i \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}", ("sakai2019",)),
    "RBP": Entry(r"(1-p) \sum_{i=1}^{k} r_i\, p^{i-1}", ("moffat2008",)),
    "RBPres": Entry(r"(1-p) \sum_{i \le n :\, \text{unjudged}} p^{i-1} + p^n, \quad 0 \text{ if all are judged}", ("moffat2008",)),
    "Bpref": Entry(r"\frac{1}{R} \sum_i r_i \left( 1 - \frac{\min(R, \bar r_{<i})}{\min(R, N)} \right), \quad N \text{ judged irrelevant, } \bar r_{<i} \text{ of them above } i", ("buckley2004",)),
    "gm_Bpref": Entry(r"\exp \frac{1}{|Q|} \sum_{q \in Q} \ln \max(\mathrm{Bpref}_q, 10^{-5})", ("buckley2004",)),
    "AUC": Entry(r"\frac{|\{(i, j) : i < j,\ r_i = 1,\ r_j = 0\}|}{|\{(i, j) : r_i = 1,\ r_j = 0\}|}, \quad i, j \le \min(k, n), \quad 1 \text{ if all are relevant}"),
    "RankingLoss": Entry(r"\frac{|\{(i, j) : j < i,\ r_i = 1,\ r_j = 0\}|}{|\{(i, j) : r_i = 1,\ r_j = 0\}|}, \quad i, j \le \min(k, n)"),
    "OPA": Entry(r"\frac{|\{(i, j) : i < j \le k,\ g_i > g_j\}|}{|\{(i, j) : i < j \le k,\ g_i \ne g_j\}|}, \quad i, j \text{ judged}"),
    "CoverageError": Entry(r"\max \{ i : r_i = 1 \}"),
    "Compat": Entry(r"\max_{I} \frac{\sum_i p^{i-1} |S_{1:i} \cap I_{1:i}| / i}{\sum_i p^{i-1} |I_{1:i}| / i}, \quad i \le \max(n, |I|), \quad I \text{ over ideal rankings}", ("clarke2020", "clarke2021")),
    "Prefs": Entry(r"\frac{|\{(a, b) : a \succ b,\ a \text{ retrieved, } b \text{ below it or not retrieved}\}|}{|\{(a, b) : a \succ b\}|}", ("carterette2008",)),
    "Q": Entry(rf"\frac{{1}}{{\min(R, k)}} \sum_{{i=1}}^{{k}} r_i\, \mathrm{{BR}}(i), \quad {_BLENDED}, \quad R \text{{ for }} \min(R, k) \text{{ without a cutoff}}", ("sakai2007",)),
    "O": Entry(rf"\mathrm{{BR}}(i_1), \quad i_1 = \min \{{i : r_i = 1\}}, \quad {_BLENDED}", ("sakai2007",)),
    "P_plus": Entry(rf"\frac{{1}}{{\sum_{{i \le i_p}} r_i}} \sum_{{i \le i_p}} r_i\, \mathrm{{BR}}(i), \quad i_p = \min \{{i : g_i = \max_j g_j\}}, \quad {_BLENDED}", ("sakai2006",)),
    "P_measure": Entry(rf"\mathrm{{BR}}(i_p), \quad i_p = \min \{{i : g_i = \max_j g_j\}}, \quad {_BLENDED}", ("sakai2007",)),
    "NCU": Entry(r"\sum_i \Pr(i)\, U(i), \quad \Pr(i) = \frac{r_i}{R}, \quad U = \mathrm{BR} \text{ or } P, \quad \text{gu: } \Pr(i) = \frac{\gamma_i}{\sum_j \gamma^*_j}, \quad \text{rb: } \Pr(i) = \frac{r_i\, c^{\sum_{j<i} r_j} (1 - c)}{1 - c^R}, \ c \text{ is gamma}", ("sakai2008",)),
    "EBR": Entry(rf"\sum_{{i=1}}^{{k}} \mathrm{{BR}}(i)\, s_i \prod_{{j<i}} (1 - s_j), \quad s_i = \frac{{2^{{g_i}} - 1}}{{2^{{g_{{\max}}}}}}, \quad {_BLENDED}", ("sakai2019",)),
    "Judged": Entry(r"\frac{|\{i \le k : \text{judged}\}|}{\min(k, n)}"),
    "Unjudged": Entry(r"\frac{|\{i \le k : \text{not judged}\}|}{k}"),
    "NumQ": Entry(r"|Q|"),
    "NumRet": Entry(r"\sum_q n_q"),
    "NumRel": Entry(r"\sum_q R_q"),
    "NumRelRet": Entry(r"\sum_q \sum_{i=1}^{n_q} r_{qi}"),
    "HitCount": Entry(r"\sum_{i=1}^{k} r_i"),
    "num_nonrel_judged_ret": Entry(r"\sum_q |\{i : \text{judged},\ r_{qi} = 0\}|"),
    "utility": Entry(r"a \sum_i r_i + b \sum_i (1 - r_i) + c \Big(R - \sum_i r_i\Big) + d \Big(D - R - \sum_i (1 - r_i)\Big), \quad D \text{ documents}"),
    "relstring": Entry(r"g_1 g_2 \dots g_k, \quad \text{- for an unjudged document}"),
    "CMC": Entry(r"\max_{i \le k} r_i"),
    "MnR": Entry(r"\min \big( \{i : r_i = 1\} \cup \{n + 1\} \big)"),
    "MedR": Entry(r"\operatorname{median}_q \min \big( \{i : r_{qi} = 1\} \cup \{n_q + 1\} \big)"),
    "AP_R": Entry(r"\frac{1}{R} \sum_{i=1}^{R} r_i\, P_i", ("musgrave2020",)),
    "Hole": Entry(r"\frac{|\{i \le k : \text{the document at rank } i \text{ is judged for no query}\}|}{k}", ("thakur2021",)),
    "INST": Entry(_MODEL + r"\left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2, \quad T_i = T - \sum_{j \le i} g_j", ("moffat2015", *_CWL)),
    "INSQ": Entry(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2", ("moffat2012", *_CWL)),
    "BPM": Entry(_MODEL + r"[\, \textstyle\sum_{j \le i} g_j < T \text{ and } i < k \,]", ("zhang2017", *_CWL)),
    "SDCG": Entry(r"\frac{\sum_{i=1}^{k} g_i / \log_2 (i+1)}{\sum_{i=1}^{k} 1 / \log_2 (i+1)}", ("jarvelin2002", *_CWL)),
    "TBG": Entry(_MODEL + r"2^{-c_i / h}, \quad c_i \text{ the cost, } h \text{ the half-life}", ("smucker2012", *_CWL)),
    "UMeasure": Entry(r"\frac{\sum_i g_i \max(0, 1 - c_{<i} / L)}{\sum_i \max(0, 1 - c_{<i} / L)}, \quad i < D, \quad c_{<i} \text{ the cost of the documents above}", ("sakai2013", *_CWL)),
    "IFT": Entry(_MODEL + r"\frac{b_1 e^{(T - G_i) R_1}}{1 + b_1 e^{(T - G_i) R_1}} \cdot \frac{1}{1 + b_2 e^{(A - G_i / c_i) R_2}}, \quad G_i, c_i \text{ gain and cost down to } i", ("azzopardi2018", *_CWL)),
    "NERR8": Entry(_MODEL + r"(1 - g_i)\, [i < k]", ("azzopardi2021",)),
    "NERR9": Entry(_MODEL + r"(1 - g_i)\, \frac{i}{i+1}\, [i < k]", ("azzopardi2021",)),
    "NERR10": Entry(_MODEL + r"p\, (1 - g_i)", ("azzopardi2021",)),
    "NERR11": Entry(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)", ("azzopardi2021",)),
    "TrAP": Entry(r"\frac{1}{R} \sum_i \frac{g_i}{i} \sum_{j \le i} g_j, \quad R \text{ documents have a grade above 0}", _CWL),
    "BPMD": Entry(_MODEL + r"[\, \textstyle\sum_{j \le i} g_j < T + h_b s_i \text{ and } i < k + h_c s_i \,], \quad s_i = \sum_{j<i} (g_j - m), \quad m \text{ the median gain}", ("zhang2017", *_CWL)),
    "NPV": Entry(_MODEL + r"\frac{1}{1 + \text{rate}}", _CWL),
    "SET": Entry(_MODEL + r"\frac{(i+2)^\beta - (i+1)^\beta}{(i+1)^\beta - i^\beta}\, [i < k]", ("azzopardi2014", *_CWL)),
    "P_CWL": Entry(_MODEL + r"[i < k]", _CWL),
    "RR_CWL": Entry(_MODEL + r"\Big[ \textstyle\sum_{j \le i} g_j = 0 \Big]", _CWL),
    "AP_CWL": Entry(_MODEL + r"\frac{\sum_{j > i} g_j / j}{\sum_{j \ge i} g_j / j}", _CWL),
    "RBP_CWL": Entry(_MODEL + r"p", ("moffat2008", *_CWL)),
    "alpha_DCG": Entry(rf"\frac{{\sum_{{i=1}}^{{k}} J_i / \log_2 (i+1)}}{{\sum_{{i=1}}^{{k}} (1-\alpha)^{{i-1}} / \log_2 (i+1)}}, \quad {_ALPHA}", ("clarke2008", "clarke2011")),
    "alpha_nDCG": Entry(rf"\frac{{\sum_{{i=1}}^{{k}} J_i / \log_2 (i+1)}}{{\sum_{{i=1}}^{{k}} J^*_i / \log_2 (i+1)}}, \quad {_ALPHA}", ("clarke2008",)),
    "ERR_IA": Entry(rf"\frac{{\sum_{{i=1}}^{{k}} J_i / i}}{{\sum_{{i=1}}^{{k}} (1-\alpha)^{{i-1}} / i}}, \quad {_ALPHA}", ("chapelle2009", "clarke2011")),
    "nERR_IA": Entry(rf"\frac{{\sum_{{i=1}}^{{k}} J_i / i}}{{\sum_{{i=1}}^{{k}} J^*_i / i}}, \quad {_ALPHA}", ("chapelle2009", "clarke2011")),
    "NRBP": Entry(rf"(1 - (1-\alpha)\beta) \sum_i \beta^{{i-1}} J_i, \quad {_ALPHA}", ("clarke2009",)),
    "nNRBP": Entry(rf"\frac{{\sum_i \beta^{{i-1}} J_i}}{{\sum_i \beta^{{i-1}} J^*_i}}, \quad {_ALPHA}", ("clarke2009",)),
    "AP_IA": Entry(r"\sum_s \Pr(s)\, \mathrm{AP}_s", ("agrawal2009",)),
    "P_IA": Entry(r"\sum_s \Pr(s)\, P_{k,s}", ("agrawal2009",)),
    "StRecall": Entry(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", ("zhai2003",)),
    "I_rec": Entry(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", ("zhai2003", "sakai2011")),
    "D_nDCG": Entry(r"\frac{\sum_{i=1}^{k} G_i / \log_2 (i+1)}{\sum_{i=1}^{k} G^*_i / \log_2 (i+1)}, \quad G_i = \sum_s \Pr(s)\, g_{is}", ("sakai2011",)),
    "D_Q": Entry(r"\mathrm{Q} \text{ with } g_i = \sum_s \Pr(s)\, g_{is} \text{ and } r_i = [\, g_i > 0 \,]", ("sakai2011", "sakai2007")),
    "D_sharp_nDCG": Entry(r"c\, \mathrm{I\text{-}rec}_k + (1 - c)\, \mathrm{D\text{-}nDCG}_k, \quad c \text{ is gamma}", ("sakai2011",)),
    "D_sharp_Q": Entry(r"c\, \mathrm{I\text{-}rec}_k + (1 - c)\, \mathrm{D\text{-}Q}_k, \quad c \text{ is gamma}", ("sakai2011", "sakai2007")),
    "DIN_nDCG": Entry(r"\frac{\sum_{i=1}^{k} \sum_s \Pr(s)\, g_{is}\, n_{is} / \log_2 (i+1)}{\sum_{i=1}^{k} G^*_i / \log_2 (i+1)}, \quad G_i = \sum_s \Pr(s)\, g_{is}, \quad n_{is} = [\, s \text{ informational, or not found above } i \,]", ("sakai2012",)),
    "P_plus_Q": Entry(r"\sum_s \Pr(s)\, M_s, \quad M_s = \mathrm{P}^{+}_s \text{ for a navigational } s \text{, else } \mathrm{Q}_s", ("sakai2012",)),
    "RBU": Entry(r"(1 - p) \sum_{i=1}^{\min(k, n)} p^{i-1} \Big( \sum_s \Pr(s)\, \sigma_{is} \prod_{j<i} (1 - \sigma_{js}) - e \Big), \quad \sigma_{is} = \frac{2^{g_{is}} - 1}{2^{\max_d g_{ds}}}, \ e \text{ effort}", ("amigo2018",)),
    "IA": Entry(r"\sum_s \Pr(s)\, M_s, \quad M_s \text{ the measure over subtopic } s", ("agrawal2009",)),
    "AllRecall": Entry(r"\frac{|\{E : E \subseteq S_{1:k}\}|}{|\{E\}|}"),
    "AnyRecall": Entry(r"\frac{|\{E : E \cap S_{1:k} \ne \emptyset\}|}{|\{E\}|}"),
    "EvidenceSuccess": Entry(r"[\, \exists E : E \subseteq S_{1:k} \,]"),
    "EvidenceRprec": Entry(r"\max_E \frac{|E \cap S_{1:|E|}|}{|E|}", ("petroni2021",)),
    "KILT_P": Entry(r"\frac{|\{E \subseteq S : \rho_E \le k\}|}{k}, \quad \rho_E \text{ the rank after collapsing sets, which also count once in } n", ("petroni2021",)),
    "KILT_R": Entry(r"\frac{|\{E \subseteq S : \rho_E \le k\}|}{|\{E\}|}, \quad \rho_E \text{ the rank after collapsing sets}", ("petroni2021",)),
    "KILT_Success": Entry(r"[\, \exists E \subseteq S : \rho_E \le k \,], \quad \rho_E \text{ the rank after collapsing sets}", ("petroni2021",)),
    "xinfAP": Entry(rf"\begin{{gathered}} \frac{{1}}{{\hat R}} \sum_{{i :\, r_i = 1}} \frac{{N_{{s(i)}}}}{{n_{{s(i)}}}} \cdot \frac{{1}}{{i}} \Big( 1 + \sum_s m_s \frac{{\rho_s + \varepsilon}}{{\nu_s + 3 \varepsilon}} \Big), \quad {_STRATA} \\ m_s, \nu_s, \rho_s \text{{ pooled, sampled and relevant ones above rank }} i, \ \varepsilon = 10^{{-5}} \end{{gathered}}", ("yilmaz2008",)),
    "infNDCG": Entry(r"\begin{gathered} \frac{1}{\mathrm{DCG}^*} \sum_s \frac{m_s}{\nu_s} \sum_{i \le k,\, s(i) = s} \frac{\max(g_i, 0)}{\log_2 (i+1)}, \quad m_s, \nu_s \text{ pooled and sampled ones of stratum } s \text{ in the top } k \\ \mathrm{DCG}^* \text{ of } \big\lfloor \textstyle\sum_{d :\, g_d = g} N_{s(d)} / n_{s(d)} + 1/2 \big\rfloor \text{ documents of each grade } g \end{gathered}", ("yilmaz2008",)),
    "statAP": Entry(r"\frac{1}{\hat R} \sum_{i :\, r_i = 1} \frac{1}{\pi_i} \cdot \frac{1}{i} \Big( 1 + \sum_{j < i} \frac{r_j}{\pi_j} \Big), \quad \hat R = \sum_d \frac{r_d}{\pi_d}, \quad \pi \text{ probability of being sampled}", ("pavlu2007",)),
    "ILD": Entry(r"\frac{2}{m(m-1)} \sum_{i<j} d(i, j), \quad m \text{ documents with features in the top } k, \ d \text{ their distance}", ("ziegler2005",)),
    "uRBP": Entry(r"(1-p) \sum_{i=1}^{k} p^{i-1}\, r_i\, u_i, \quad u_i \text{ how well document } i \text{ is understood}", ("zuccon2016",)),
    "AWRF": Entry(r"1 - \mathrm{JS}(\epsilon \,\|\, \epsilon^*), \quad \mathrm{JS}(a \,\|\, b) = \frac{1}{2} \sum_G \Big( a_G \ln \frac{2 a_G}{a_G + b_G} + b_G \ln \frac{2 b_G}{a_G + b_G} \Big), \quad \epsilon_G \propto \sum_{i \le k,\, i \in G} \frac{1}{\log_2 \max(i, 2)}, \quad \epsilon^*_G \text{ the target share}", ("sapiezynski2019",)),
    "EE_D": Entry(rf"\sum_G \epsilon_G^2, \quad {_EXPOSURE}", ("diaz2020",)),
    "EE_R": Entry(rf"\sum_G \epsilon_G\, \epsilon^*_G, \quad {_EXPOSURE}, \quad {_TARGET}", ("diaz2020",)),
    "EE_L": Entry(rf"\sum_G (\epsilon_G - \epsilon^*_G)^2, \quad {_EXPOSURE}, \quad {_TARGET}", ("diaz2020",)),
    "Novelty": Entry(r"\frac{1}{m} \sum_{i=1}^{m} -\log_2 \frac{u_i}{U}, \quad m = \min(k, n), \quad u_i \text{ of } U \text{ users used item } i", ("vargas2011",)),
    "Popularity": Entry(r"\frac{1}{m} \sum_{i=1}^{m} \text{uses of item } i, \quad m = \min(k, n)"),
    "APLT": Entry(r"\frac{|\{i \le m : \text{item } i \text{ in the long tail}\}|}{m}, \quad m = \min(k, n)"),
    "ACLT": Entry(r"|\{i \le k : \text{item } i \text{ in the long tail}\}|"),
    "Serendipity": Entry(r"\frac{1}{m} \sum_{i=1}^{m} r_i \max \big( 0, p(i) - p(\pi_i) \big), \quad m = \min(k, n), \quad p(i) = \frac{N + 1 - i}{N}, \quad \pi_i \text{ the item's rank by popularity among } N \text{ items}"),
    "pAUC": Entry(r"\frac{1}{R} \sum_{i :\, r_i = 1} \max \Big( 1 - \frac{\sum_{j<i} (1 - r_j)}{k}, 0 \Big)", ("hiranandani2020",)),
    "PAP": Entry(r"\frac{1}{\min(k, R)} \sum_{i :\, r_i = 1,\, \sum_{j \le i} r_j \le k} \max \Big( 1 - \frac{\sum_{j<i} (1 - r_j)}{k}, 0 \Big)", ("hiranandani2020",)),
    "MCC": Entry(r"\frac{\mathrm{TP} \cdot \mathrm{TN} - \mathrm{FP} \cdot \mathrm{FN}}{\sqrt{k\, R\, (N - R)(N - k)}}, \quad \mathrm{TP} + \mathrm{FP} = k, \quad N \text{ items, at least } \mathrm{TP} + \mathrm{FP} + \mathrm{FN}"),
    "SufficientReco": Entry(r"[\, n \ge k \,]"),
    "CoveredUsers": Entry(r"[\, n > 0 \,]"),
    "Calibration": Entry(r"\sum_c p(c) \ln \frac{p(c)}{(1-\alpha)\, q(c) + \alpha\, p(c)}, \quad p, q \text{ shares of group } c \text{ in the history and in the top } k, \ \alpha \text{ the smoothing}", ("steck2018",)),
}  # fmt: skip


def entry_of(name: str) -> Entry:
    """What is known of a measure; nothing of one that was defined elsewhere."""
    return ENTRIES.get(name, Entry(""))


def references_of(name: str) -> list[Reference]:
    """Where a measure comes from."""
    return [REFERENCES[key] for key in entry_of(name).references]
