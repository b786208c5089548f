import Base

/// Selects the mount of a command: the named one, else the one that contains the current directory, else the only one.
/// A pure value.
struct MountChoice {
    struct Candidate: Hashable, Sendable {
        /// Absolute path of the mountpoint.
        var path: String
        /// Name of its profile; nil while unknown.
        var profile: String?
    }

    enum Outcome: Hashable {
        case chosen(Candidate)
        /// No mount exists.
        case none
        /// The choice is ambiguous.
        case several([Candidate])
        /// The path or name matches no mount.
        case unknown
    }

    var mounts: [Candidate]
    /// Absolute path of the current directory; nil if it has none.
    var folder: String?

    /// - Parameters:
    ///   - word: From the command line: a path on a mount, the last component of a mountpoint, or a profile's name.
    ///   - path: The word as an absolute path, if possible.
    func choose(_ word: String?, path: String? = nil) -> Outcome {
        guard let word else {
            if let folder, let found = mount(over: folder) { return .chosen(found) }
            return outcome(mounts, where: .none)
        }
        if let path, let found = mount(over: path) { return .chosen(found) }
        let named = mounts.filter { $0.path.lastPathName == word || $0.profile == word }
        return outcome(named, where: .unknown)
    }

    /// Names accepted by `choose`.
    var names: [String] {
        mounts.flatMap { [$0.path.lastPathName, $0.profile].compactMap { $0 } }
    }

    private func outcome(_ found: [Candidate], where missing: Outcome) -> Outcome {
        guard let first = found.first else { return missing }
        return found.count == 1 ? .chosen(first) : .several(found)
    }

    /// Returns the innermost mount that contains the path.
    private func mount(over path: String) -> Candidate? {
        mounts.filter { path.path(below: $0.path) != nil }.max { $0.path.utf8.count < $1.path.utf8.count }
    }
}
