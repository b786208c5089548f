import Posix

/// What keeps previews from being made. Never what is in them, or the names of files.
let log = Log("media")
