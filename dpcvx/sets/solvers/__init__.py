"""Outside solvers, called directly and kept alive between questions: one file for each kind of program."""
