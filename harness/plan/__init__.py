"""From a declared experiment to a plan: stages with content keys, their cost, and the proof that
arms differ only where an axis says so. Nothing here trains a model or reads the store.
"""
