"""Computes the stages of a plan: the stages themselves, the worker that runs one, the backends that
run many, and the loop that records what they leave. Nothing here decides what is compared.
"""
