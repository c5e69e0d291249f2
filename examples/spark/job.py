"""Two recommenders on a cluster: evaluate both, compare them, and keep the values by user as Parquet.

    spark-submit --master spark://host:7077 examples/spark/job.py --output scores.parquet
    spark-submit examples/spark/job.py --qrels s3a://bucket/clicks --runs old=s3a://bucket/old new=s3a://bucket/new

Without ``--qrels`` and ``--runs`` it makes some users, what they clicked, and two lists of recommendations for each. The executors
need RankLens: see docs/scale.md.
"""

import argparse
from typing import TYPE_CHECKING

import ranklens as rl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURES = ["nDCG@10", "RR", "R@10"]


def made_up(spark: "SparkSession", users: int = 2_000) -> "tuple[DataFrame, dict[str, DataFrame]]":
    """Three clicks per user; lists of ten items as arrays, the new ones with a click on top more often."""
    people = spark.range(users).withColumnRenamed("id", "user")
    clicks = people.selectExpr("user", "explode(sequence(1, 3)) as n").selectExpr(
        "user", "(user * 7 + n * 13) % 97 as item"
    )
    lists = {
        name: people.selectExpr(
            "user",
            f"transform(sequence(1, 10), i -> if(i = 1 + user % {better}, (user * 7 + 13) % 97, 97 + (user * i) % 997)) as recommendations",
        )
        for name, better in (("old", 10), ("new", 5))
    }
    return clicks, lists


def main() -> None:
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--qrels", help="Parquet: what users clicked")
    parser.add_argument(
        "--runs", nargs="*", default=[], metavar="NAME=PATH", help="Parquet: what was recommended"
    )
    parser.add_argument("--output", help="a folder for the values by user")
    given = parser.parse_args()
    spark = SparkSession.builder.appName("two recommenders").getOrCreate()
    if given.qrels:
        qrels = spark.read.parquet(given.qrels)
        runs = {
            name: spark.read.parquet(path) for name, _, path in (run.partition("=") for run in given.runs)
        }
    else:
        qrels, runs = made_up(spark)
    scores = {name: rl.evaluate(qrels, run, MEASURES) for name, run in runs.items()}
    for name, one in scores.items():
        print(f"{name}\n{one}\n")
        if given.output:
            one.to_spark().write.mode("overwrite").parquet(f"{given.output}/system={name}")
    if len(scores) > 1:
        print(rl.compare(None, scores, MEASURES).verdict())
    spark.stop()


if __name__ == "__main__":
    main()
