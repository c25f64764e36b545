"""The commands, one a file: `describe(parser)` declares the arguments, `run(arguments)` returns what is printed."""
