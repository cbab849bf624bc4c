"""Zero-shot scoring with a pretrained network: requests, log-likelihoods, probes."""
