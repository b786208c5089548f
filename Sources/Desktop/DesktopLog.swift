import Posix

/// The log of control connections.
let log = Log("control")
