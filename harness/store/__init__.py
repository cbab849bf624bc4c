"""The one store, MLflow: a stage is a run tagged with its key; FINISHED means done."""
