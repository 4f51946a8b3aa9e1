"""The application that Spark runs: rows made, sorted and read, as a user would write it with DataFrames.

It needs pyspark alone, no package of ours, and runs by itself as well: ``python app.py`` carries out what stands on its
standard input, ``spark-submit app.py --from FILE`` what stands in a file or a pipe of that name (spark-submit passes on no
input), a line of JSON each, and answers each with a line:

    {"do": "generate", "rows": 20000000, "seed": 1, "partitions": 16, "to": "file:///scratch/in"}
    {"do": "sort", "partitions": 16, "from": "file:///scratch/in", "to": "file:///scratch/out"}
    {"do": "write", "lines": 4096, "files": 4, "seed": 1, "to": "file:///scratch/io"}
    {"do": "read", "from": "file:///scratch/io"}

A row has 100 bytes (``rows.py`` has the same function in numpy, by which Spark's answer is checked): a key of 10 printable
signs, the row's number in 16 hexadecimal digits, 73 signs that follow from both, and the line's end. All of it is made
and compared within the JVM, so that Python costs nothing.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

#: Before each line of ours, since Spark prints on the same stream.
MARK = "@shakedown-spark "
_CONFIG = {
    # A cast of a number to its bytes, which ANSI's rules forbid; nothing that could overflow is added.
    "spark.sql.ansi.enabled": "false",
    # As many files as partitions: none is joined with its neighbour.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


def _word(*parts: Any) -> Any:
    """16 hexadecimal digits of the xxHash64 of some columns."""
    from pyspark.sql import functions as F

    return F.lpad(F.hex(F.xxhash64(*parts)), 16, "0")


def row(seed: int) -> Any:
    """The column with the text of the row of number ``id``."""
    from pyspark.sql import functions as F

    number = F.col("id")
    key = F.substring(F.base64(F.xxhash64(F.lit(seed).cast("long"), number).cast("binary")), 1, 10)
    filler = _word(F.lit(seed).cast("long"), number, F.lit(1).cast("long"))
    return F.concat(key, F.lpad(F.hex(number), 16, "0"), F.substring(F.repeat(filler, 5), 1, 73)).alias("value")


def line(seed: int) -> Any:
    """The column with the text of a line of 65,536 signs of the test of input and output."""
    from pyspark.sql import functions as F

    number = F.col("id")
    filler = _word(F.lit(seed).cast("long"), number, F.lit(2).cast("long"))
    return F.concat(F.lpad(F.hex(number), 16, "0"), F.repeat(filler, 4095)).alias("value")


def generate(spark: Any, asked: dict[str, Any]) -> None:
    """Rows 0 to ``rows`` - 1 as text, ``partitions`` files."""
    numbers = spark.range(0, asked["rows"], 1, asked["partitions"])
    numbers.select(row(asked["seed"])).write.text(asked["to"])


def sort(spark: Any, asked: dict[str, Any]) -> None:
    """The rows in the order of their keys, over all files."""
    from pyspark.sql import functions as F

    key = F.substring("value", 1, 10)
    rows = spark.read.text(asked["from"])
    rows.repartitionByRange(asked["partitions"], key).sortWithinPartitions(key).write.text(asked["to"])


def write(spark: Any, asked: dict[str, Any]) -> None:
    """One file of each task, in lines of 64 KiB."""
    spark.range(0, asked["lines"], 1, asked["files"]).select(line(asked["seed"])).write.text(asked["to"])


def read(spark: Any, asked: dict[str, Any]) -> dict[str, int]:
    """All of it, read once: how many lines, signs, and the sum of the CRC-32 of each line."""
    from pyspark.sql import functions as F

    lines = spark.read.text(asked["from"])
    sums = lines.agg(
        F.count("value"), F.sum(F.length("value")), F.sum(F.crc32(F.col("value").cast("binary")))
    ).collect()[0]
    return dict(zip(("lines", "signs", "crc"), (int(one or 0) for one in sums), strict=True))


_STEPS = {"generate": generate, "sort": sort, "write": write, "read": read}


def say(**words: Any) -> None:
    """A line of ours."""
    sys.stdout.write(f"\n{MARK}{json.dumps(words)}\n")
    sys.stdout.flush()


def main() -> int:
    """Begin a JVM at once, a session when its settings come, and carry out steps until the input ends."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    begin = time.time_ns()
    config = SparkConf().setAll(_CONFIG.items())
    if sys.argv[1:2] == ["--wait"]:  # the JVM starts while the cluster does; the first line names its master
        SparkContext._ensure_initialized()
        given = json.loads(sys.stdin.readline())
        config = config.setMaster(given["master"]).set("spark.driver.host", given["address"])
    spark = SparkSession.builder.config(conf=config).appName("shakedown bigdata").getOrCreate()
    context = spark.sparkContext
    context.setLogLevel("WARN")
    say(done="start", begin_ns=begin, end_ns=time.time_ns(), version=context.version, id=context.applicationId)
    for text in open(sys.argv[2]) if sys.argv[1:2] == ["--from"] else sys.stdin:  # noqa: SIM115 - until this process ends
        asked = json.loads(text)
        context.setJobGroup(asked["do"], asked["do"])
        begin = time.time_ns()
        try:
            found = _STEPS[asked["do"]](spark, asked) or {}
        except Exception as error:  # what Spark raises is of many kinds; it is told to who asked
            say(failed=asked["do"], why=str(error)[:20000])
            return 1
        say(done=asked["do"], begin_ns=begin, end_ns=time.time_ns(), **found)
    spark.stop()
    say(done="stop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
