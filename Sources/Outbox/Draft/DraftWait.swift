/// The next step that a draft waits for while nothing is wrong with it.
public enum DraftWait: Hashable, Sendable {
    /// The end of its writer.
    case writer
    /// The end of the quiet time, or of the encryption that follows.
    case quietTime
    /// The files of its chat that were closed before it.
    case turn
    /// The core's answer.
    case core
}
