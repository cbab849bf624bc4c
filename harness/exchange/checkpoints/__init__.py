"""A pretrained model of the store as a folder that transformers' own classes load, with a model
card: which model (`selection`), its files (`network`), its scores for the Hub (`eval_results`), and
its card (all other modules).
"""
