"""The search of fine-tuning settings: its declaration, and trials by Optuna."""
