"""The bibliography: publications of measures, tests and corrections, which measures name by their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.metrics.catalog import Definition


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


TOIS, SIGIR, CIKM = "ACM Transactions on Information Systems", "Proceedings of SIGIR", "Proceedings of CIKM"
_REFERENCES = (
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
    Reference("smith2024", "Smith, Brandon and Troynikov, Anton", "Evaluating chunking strategies for retrieval", "", 2024, None, "misc", url="https://research.trychroma.com/evaluating-chunking"),
    Reference("holm1979", "Holm, Sture", "A simple sequentially rejective multiple test procedure", "Scandinavian Journal of Statistics", 1979, None, "article", volume="6(2)", pages="65-70"),
    Reference("hochberg1988", "Hochberg, Yosef", "A sharper Bonferroni procedure for multiple tests of significance", "Biometrika", 1988, "10.1093/biomet/75.4.800", "article", volume="75(4)", pages="800-802"),
    Reference("hommel1988", "Hommel, Gerhard", "A stagewise rejective multiple test procedure based on a modified Bonferroni test", "Biometrika", 1988, "10.1093/biomet/75.2.383", "article", volume="75(2)", pages="383-386"),
    Reference("dunn1961", "Dunn, Olive Jean", "Multiple comparisons among means", "Journal of the American Statistical Association", 1961, "10.1080/01621459.1961.10482090", "article", volume="56(293)", pages="52-64"),
    Reference("benjamini1995", "Benjamini, Yoav and Hochberg, Yosef", "Controlling the false discovery rate: a practical and powerful approach to multiple testing", "Journal of the Royal Statistical Society: Series B", 1995, "10.1111/j.2517-6161.1995.tb02031.x", "article", volume="57(1)", pages="289-300"),
    Reference("benjamini2001", "Benjamini, Yoav and Yekutieli, Daniel", "The control of the false discovery rate in multiple testing under dependency", "The Annals of Statistics", 2001, "10.1214/aos/1013699998", "article", volume="29(4)", pages="1165-1188"),
    Reference("fagerland2013", "Fagerland, Morten W. and Lydersen, Stian and Laake, Petter", "The McNemar test for binary matched-pairs data: mid-p and asymptotic are better than exact conditional", "BMC Medical Research Methodology", 2013, "10.1186/1471-2288-13-91", "article", volume="13", pages="91"),
    Reference("carterette2012", "Carterette, Benjamin A.", "Multiple testing in statistical analysis of systems-based information retrieval experiments", TOIS, 2012, "10.1145/2094072.2094076", "article", volume="30(1)", pages="4:1-4:34"),
    Reference("hothorn2008", "Hothorn, Torsten and Bretz, Frank and Westfall, Peter", "Simultaneous inference in general parametric models", "Biometrical Journal", 2008, "10.1002/bimj.200810425", "article", volume="50(3)", pages="346-363"),
    Reference("angelopoulos2023", "Angelopoulos, Anastasios N. and Duchi, John C. and Zrnic, Tijana", "PPI++: efficient prediction-powered inference", "arXiv", 2023, "10.48550/arXiv.2311.01453", "misc"),
    Reference("horvitz1952", "Horvitz, Daniel G. and Thompson, Donovan J.", "A generalization of sampling without replacement from a finite universe", "Journal of the American Statistical Association", 1952, "10.1080/01621459.1952.10483446", "article", volume="47(260)", pages="663-685"),
    Reference("fay1997", "Fay, Michael P. and Feuer, Eric J.", "Confidence intervals for directly standardized rates: a method based on the gamma distribution", "Statistics in Medicine", 1997, None, "article", volume="16(7)", pages="791-801"),
    Reference("ranklens", "{The RankLens authors}", "RankLens: measure retrieval", "", 2026, None, "misc", url="https://github.com/ranklens/ranklens"),
)  # fmt: skip
REFERENCES = {reference.key: reference for reference in _REFERENCES}


def references_of(definition: Definition) -> list[Reference]:
    """Where a measure comes from."""
    return [REFERENCES[each] if isinstance(each, str) else each for each in definition.formula.references]
