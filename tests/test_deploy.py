"""The containers: the server is on loopback, without a password, of the tested MLflow; the pods of
KubeRay have the server and the volume, and the pinned Ray."""

import re

import typer
import yaml
from typer.core import TyperGroup

from harness.cli.app import app
from tests.paths import ROOT

COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
CLAIM, JOB = yaml.safe_load_all((ROOT / "deploy" / "kuberay.yaml").read_text())
GROUPS = JOB["spec"]["rayClusterSpec"]
PODS = [one["template"]["spec"] for one in (GROUPS["headGroupSpec"], *GROUPS["workerGroupSpecs"])]


def test_only_the_server_is_reachable_and_only_from_this_machine() -> None:
    ports = {name: one.get("ports", []) for name, one in COMPOSE["services"].items()}
    assert ports == {"database": [], "mlflow": ["127.0.0.1:5000:5000"]}


def test_volumes_and_services_that_are_used_are_declared() -> None:
    services = COMPOSE["services"]
    used = {volume.split(":")[0] for one in services.values() for volume in one["volumes"]}
    assert used == COMPOSE["volumes"].keys()
    assert services["mlflow"]["depends_on"].keys() <= services.keys()


def test_the_password_is_the_users() -> None:
    for one in COMPOSE["services"].values():
        assert one["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    example = (ROOT / "deploy" / ".env.example").read_text()
    assert example.splitlines()[-1] == "POSTGRES_PASSWORD="


def test_mlflow_is_the_pinned_one() -> None:
    (pinned,) = re.findall(r"^mlflow==(\S+)", (ROOT / "constraints.txt").read_text(), re.M)
    text = COMPOSE["services"]["mlflow"]["command"][-1] + (ROOT / "docs" / "server.md").read_text()
    assert set(re.findall(r"mlflow==(\S+)", text)) == {pinned}


def test_every_pod_of_kuberay_has_the_volume_and_the_server() -> None:
    assert CLAIM["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in PODS:
        (container,) = pod["containers"]
        (volume,), (mount,) = pod["volumes"], container["volumeMounts"]
        assert volume["persistentVolumeClaim"]["claimName"] == CLAIM["metadata"]["name"]
        assert mount == {"name": volume["name"], "mountPath": "/shared"}
        variables = {one["name"]: one["value"] for one in container["env"]}
        assert variables["MLFLOW_TRACKING_URI"].startswith("http://")
        assert container["resources"]["limits"] == container["resources"]["requests"]


def test_kuberay_runs_a_command_that_exists_with_a_shared_store() -> None:
    name, *arguments = JOB["spec"]["entrypoint"].split()
    assert name == "harness" and arguments[arguments.index("--store") + 1].startswith("/shared/")
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    group.commands[arguments[0]].make_context(name, arguments[1:])  # parses the options


def test_ray_and_python_are_those_of_the_image_and_the_pinned_ones() -> None:
    (pinned,) = re.findall(r"^ray==(\S+)", (ROOT / "constraints.txt").read_text(), re.M)
    docker = (ROOT / "deploy" / "Dockerfile").read_text()
    assert f"FROM rayproject/ray:{pinned}-py311\n" in docker
    assert GROUPS["rayVersion"] == pinned
    assert GROUPS["authOptions"] == {"mode": "token"}
    (tag,) = re.findall(r"--tag (\S+)", docker)
    assert {pod["containers"][0]["image"] for pod in PODS} == {tag}
    for copied in re.findall(r"^COPY (.+) \S+$", docker, re.M):
        assert all((ROOT / one).exists() for one in copied.split())
