"""Experiment -> Plan: arms, stages with content keys, cost, and the proof of what differs."""
