import Posix

/// Logs failed previews. Never logs content or file names.
let log = Log("media")
