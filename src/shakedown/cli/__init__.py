"""The command line, a verb a file: each reads the options, calls the room that does the work, and prints what came of it.
Nothing is decided here, and a module is loaded when its verb is called."""
