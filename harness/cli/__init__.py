"""Commands in files of their own, each with what it needs imported when it is called; they are
registered in `harness.cli.app`."""
