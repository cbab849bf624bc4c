"""What the store holds of an experiment, as the frames that leaderboards and reports read."""
