"""The search of fine-tuning settings: spaces, their declaration, and trials by Optuna."""
