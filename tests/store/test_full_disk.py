"""A disk that is full when a store gets its first result."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import resource, signal, sys
from pathlib import Path
from harness.store.finished_runs import FinishedRuns

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
database = Path(sys.argv[1]) / "mlflow.db"
for limit in (204_800, resource.RLIM_INFINITY):  # MLflow's empty tables have about 1 MB
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        FinishedRuns(database.parent, None).tracking("study")
    except OSError as error:
        print("refused:", error)
    print([path.name for path in database.parent.glob("mlflow.db*") if path.suffix != ".lock"])
"""


def test_tables_that_a_full_disk_cannot_take_are_made_later(tmp_path: Path) -> None:
    """In the same process, in which MLflow keeps its connection to the file that it gave up."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0].startswith("refused: MLflow at sqlite:///") and "disk I/O error" in lines[0]
    assert lines[1:] == ["[]", "['mlflow.db']"]
