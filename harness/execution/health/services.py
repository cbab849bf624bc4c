"""Checks of the tracking server, of data sets and of the Hub."""

import os
import socket
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from harness.data.hub import MIRROR
from harness.execution.health.finding import Finding
from harness.store.outages import PORTS, check_connection, place_of

SECONDS = 2.0
"""Longest wait for an answer."""
HUB = "https://huggingface.co"
SHOWN = 5
"""Data sets that are named."""


def check_server() -> Finding:
    """Whether the server or database of `MLFLOW_TRACKING_URI` answers."""
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        return Finding("ok", "none: the store is local")
    scheme = urlsplit(uri).scheme.partition("+")[0]
    if scheme in ("http", "https"):
        return _check_http(place_of(uri))
    if scheme == "postgresql" and not find_spec("psycopg2"):
        advice = "pip install 'pretraining-harness[server]'"
        return Finding("problem", "the driver psycopg2 is missing", advice)
    if scheme in PORTS:
        try:
            check_connection(uri, SECONDS)
        except OSError as error:
            return _away(place_of(uri), str(error))
    return Finding("ok", place_of(uri))


def _check_http(place: str) -> Finding:
    try:
        with urlopen(f"{place.rstrip('/')}/version", timeout=SECONDS) as answer:
            return Finding("ok", f"{place}, MLflow {answer.read(20).decode(errors='replace')}")
    except HTTPError as error:
        if error.code in (401, 403):
            return Finding("ok", f"{place}, which asks for a password")
        return _away(place, f"answers with {error.code} {error.reason}")
    except OSError as error:
        reason = getattr(error, "reason", error)  # of urllib
        return _away(place, getattr(reason, "strerror", None) or str(reason))


def _away(place: str, reason: str) -> Finding:
    advice = "start the server, correct MLFLOW_TRACKING_URI, or unset it for a local store"
    return Finding("problem", f"{place}: {reason}", advice)


def check_data() -> Finding:
    """The data sets of tasks, probes and corpora that are on this machine."""
    root = os.environ.get(MIRROR)
    if root and not Path(root).expanduser().is_dir():
        advice = f"correct {MIRROR}, or unset it to read the Hub"
        return Finding("problem", f"{MIRROR}={root} is no folder", advice)
    from harness.tasks.datasets.catalog import data_sets

    sets = data_sets()
    there = [one.name for one in sets if one.folder()[1]]
    names = ", ".join(there[:SHOWN]) + ", ..." * (len(there) > SHOWN)
    place = f"{MIRROR}={root}" if root else "the Hub's cache"
    found = f"{len(there)} of {len(sets)} data sets in {place}: {names or 'none'}"
    if root and not there:
        return Finding("warning", found, "harness data fetch --suite glue-v1 adds data sets")
    return Finding("ok", f"{found}; the micro-world needs none")


def check_hub() -> Finding:
    """Whether data sets and checkpoints can be downloaded."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    if offline:
        return Finding("ok", "not used: HF_HUB_OFFLINE is set")
    address = os.environ.get("HF_ENDPOINT") or HUB
    parts = urlsplit(address)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname, port), SECONDS).close()
    except OSError as error:
        if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
            return Finding("ok", f"{place_of(address)}, by a proxy that is not tried")
        advice = f"connect, or set {MIRROR} (harness data fetch) and HF_HUB_OFFLINE=1"
        reason = error.strerror or str(error)
        return Finding("warning", f"{place_of(address)} cannot be reached: {reason}", advice)
    return Finding("ok", f"{place_of(address)} can be reached")
