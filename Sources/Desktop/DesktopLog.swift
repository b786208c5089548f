import Posix

/// What goes wrong in the conversations with commands.
let log = Log("control")
