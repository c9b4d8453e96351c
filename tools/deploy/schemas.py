"""Write the JSON Schemas that kubeconform reads: python schemas.py FOLDER VERSION...

Those of Kubernetes come from the package kubernetes-validate, those of the Prometheus operator and of KEDA from the
models of cloudcoil. Unknown fields are errors in all of them.
"""

import json
import sys
from pathlib import Path

import kubernetes_validate
from cloudcoil.models.keda.v1alpha1 import ScaledObject
from cloudcoil.models.prometheus_operator.v1 import PodMonitor, PrometheusRule


KINDS = [
    "configmap-v1",
    "deployment-apps-v1",
    "horizontalpodautoscaler-autoscaling-v2",
    "networkpolicy-networking-v1",
    "poddisruptionbudget-policy-v1",
    "secret-v1",
    "service-v1",
]


def read(file):
    """Return a schema whose references point into the same file."""
    return json.loads(file.read_text().replace('"/api/_definitions.json#', '"#'))


def close(schema):
    """Forbid other fields in objects with named fields."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for part in schema.values():
            close(part)
    elif isinstance(schema, list):
        for part in schema:
            close(part)
    return schema


def main(folder, versions):
    source = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    for version in versions:
        target = folder / f"v{version}"
        target.mkdir(parents=True)
        strict = source / f"v{version}-local-strict"
        definitions = read(strict / "_definitions.json")["$defs"]
        for name in KINDS:
            schema = {**read(strict / f"{name}.json"), "$defs": definitions}
            (target / f"{name}.json").write_text(json.dumps(schema))
        for model, suffix in [
            (PodMonitor, "monitoring-v1"),
            (PrometheusRule, "monitoring-v1"),
            (ScaledObject, "keda-v1alpha1"),
        ]:
            schema = close(model.model_json_schema(by_alias=True))
            (target / f"{model.__name__.lower()}-{suffix}.json").write_text(json.dumps(schema))


main(Path(sys.argv[1]), sys.argv[2:])
