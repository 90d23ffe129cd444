"""What the model calls, tools, look-ups and people of any number of runs took, for the usage page,
the command line and programs.
"""
