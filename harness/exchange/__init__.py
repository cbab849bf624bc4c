"""What leaves a store and what enters it.

`checkpoints`: a pretrained model as a folder for transformers, with a model card. `results`: scores
and predictions as parquet files, out and in. `submissions`: predictions as the zip files that the
servers of GLUE and SuperGLUE accept. Reading a checkpoint of others is in
`harness.models.checkpoints`, leaderboards over imported results are in `harness.leaderboard`.
"""
