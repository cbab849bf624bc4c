"""What every test shares."""

from hypothesis import settings

# A first example may import a library, and shared machines are slow at times.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")

pytest_plugins = ["tests.made_up_results"]
