"""Examples of a task on which two arms give different answers, as a frame and a page."""
