"""Small files in folders of whatever file system Spark writes to, through Spark's own access to it.

Local paths, object stores and HDFS alike. For notes, not for data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder:
    """A folder by its path or URI; it need not exist."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        java: Any = spark._jvm  # noqa: SLF001 - Python has no door of its own to Hadoop's files
        configuration = spark._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        self._java = java
        path = java.org.apache.hadoop.fs.Path(location)
        self._files = path.getFileSystem(configuration)
        self._path = self._files.makeQualified(path)

    @property
    def uri(self) -> str:
        """The folder as an absolute URI."""
        return str(self._path.toString())

    def has(self, name: str) -> bool:
        """Tell whether the folder holds something of that name."""
        return bool(self._files.exists(self._child(name)))

    def is_empty(self) -> bool:
        """Tell whether there is nothing in the folder, or no such folder."""
        return not self._files.exists(self._path) or not self._files.listStatus(self._path)

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if there is none."""
        if not self.has(name):
            return None
        stream = self._files.open(self._child(name))
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file as a whole, in place of an older one."""
        stream = self._files.create(self._child(name), True)  # noqa: FBT003 - Java knows no names
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _child(self, name: str) -> Any:  # noqa: ANN401 - a Java object
        return self._java.org.apache.hadoop.fs.Path(self._path, name)
