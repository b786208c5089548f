/// An operation that the mount refuses until its user permits it.
public enum Permission: Hashable, Sendable {
    /// Deletion of messages for this user (`--delete self`).
    case deletion
    /// Pasting folders, each sent as one archive (`--folders archive`).
    case folders
    /// Fetching by the program of this name (`--allow`).
    case program(String)
}
